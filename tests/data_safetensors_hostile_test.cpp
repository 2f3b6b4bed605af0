// Files that nobody honest wrote: each must be refused, before it costs memory.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "reel/core/allocator_adaptors.h"
#include "reel/data/safetensors.h"
#include "reel/tests/data_support.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using namespace reel::data;
using namespace reel::test;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Loads `content`, which must be refused before a tensor is allocated, and gives the message.
std::string refusal(const std::string& content) {
  const TemporaryFolder folder;
  const std::string path = put_file(folder / "f", content);
  const auto counter = std::make_shared<CountingAllocator>();
  const AllocatorScope scope(counter);
  const std::string error = message_of([&] { load_safetensors(path); });
  CHECK((error.empty() || error.find(path) == 0));
  CHECK(counter->stats().allocations == 0);
  return error;
}

}  // namespace

TEST_CASE("safetensors files cut at any byte, or too long, are refused", "[data]") {
  const TemporaryFolder folder;
  save_safetensors(folder / "f", {{"a", Tensor::arange(3, DType::f16)}, {"b", Tensor::arange(5, DType::u8)}},
                   {{"k", "v"}});
  const std::string whole = get_file(folder / "f");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    INFO("cut at " << n);
    CHECK_FALSE(refusal(whole.substr(0, n)).empty());
  }
  CHECK_FALSE(refusal(whole + "x").empty());
  // With any single byte damaged the file is read or refused, and nothing else happens.
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const int flip : {1, 32, 128, 255}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      const std::string path = put_file(folder / "f", damaged);
      CHECK_NOTHROW(message_of<DataError>([&] { load_safetensors(path); }));
    }
}

TEST_CASE("headers with a length that lies are refused", "[data]") {
  const std::string header = "{" + entry("a", "U8", "[1]", 0, 1) + "}", content = header + "x";
  const std::uint64_t size = 8 + content.size(), n = header.size();
  for (const std::uint64_t length : {std::uint64_t{0}, n - 1, n + 1, size - 7, size, std::uint64_t{100'000'000},
                                     std::uint64_t{100'000'001}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    INFO(length);
    CHECK_FALSE(refusal(number(length, 8) + content).empty());
  }
  const TemporaryFolder folder;
  CHECK(load_safetensors(put_file(folder / "f", number(n, 8) + content)).tensors.size() == 1);
}

TEST_CASE("shapes that overflow are refused", "[data]") {
  const char* shapes[] = {"[4194305,4194305,211106198978564]",
                          "[4294967296,4294967296]",
                          "[4611686018427387905,4]",
                          "[3,6148914691236517206]",
                          "[0,4611686018427387904,4611686018427387904]",
                          "[9223372036854775807]",
                          "[18446744073709551615]",
                          "[18446744073709551616]",
                          "[4611686018427387904]"};
  for (const char* shape : shapes)
    for (const std::uint64_t size : {0, 4, 8, 16}) {
      INFO(shape << " in " << size << " bytes");
      CHECK_FALSE(refusal(file_of("{" + entry("a", "F32", shape, 0, size) + "}", std::string(size, 'x'))).empty());
    }
}

TEST_CASE("every rule of the header is enforced", "[data]") {
  const std::string good = entry("a", "U8", "[4]", 0, 4), data = "abcd";
  const std::string tail = ",\"data_offsets\":[0,4]}}";
  const std::pair<std::string, std::string> cases[] = {
      // grammar
      {"", "begin with {"},
      {"[" + good + "]", "begin with {"},
      {" {" + good + "}", "begin with {"},
      {"{" + good, "not valid JSON"},
      {"{" + good + "}}", "not valid JSON"},
      {"{" + good + "} x", "not valid JSON"},
      {"{" + good + ",}", "not valid JSON"},
      {"{" + good + "}" + std::string(1, '\0'), "zero byte"},
      {"{" + entry("\xff", "U8", "[4]", 0, 4) + "}", "not valid JSON"},
      {"{//\n" + good + "}", "not valid JSON"},
      {"{\"a\":1}", "a number"},
      {"{\"a\":[]}", "an array"},
      {"{\"a\":\"b\"}", "a text"},
      {"{\"a\":null}", "null"},
      {"{\"a\":true}", "a truth value"},
      // names
      {"{" + good + "," + good + "}", "twice"},
      {"{" + entry("a", "F32", "[1]", 0, 4) + "," + good + "}", "twice"},
      {"{" + good + "," + entry("\\u0061", "U8", "[4]", 0, 4) + "}", "twice"},
      {"{" + entry(std::string(1025, 'n'), "U8", "[4]", 0, 4) + "}", "1025"},
      // fields
      {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[4]" + tail, "dtype twice"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"shape\":[4]" + tail, "shape twice"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]" + tail, "data_offsets twice"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"extra\":[4]" + tail, "unknown field 'extra'"},
      {"{\"a\":{\"shape\":[4]" + tail, "no field dtype"},
      {"{\"a\":{\"dtype\":\"U8\"" + tail, "no field shape"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}", "no field data_offsets"},
      {"{\"a\":{}}", "no field dtype"},
      {"{" + entry("a", "F8_E4M3", "[4]", 0, 4) + "}", "F8_E4M3"},
      {"{" + entry("a", "u8", "[4]", 0, 4) + "}", "dtype u8"},
      {"{\"a\":{\"dtype\":8,\"shape\":[4]" + tail, "a number"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":4" + tail, "a number"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":{}" + tail, "an object"},
      {"{" + entry("a", "U8", "[[4]]", 0, 4) + "}", "an array"},
      // numbers
      {"{" + entry("a", "U8", "[-4]", 0, 4) + "}", "-4"},
      {"{" + entry("a", "U8", "[-1,4]", 0, 4) + "}", "-1"},
      {"{" + entry("a", "U8", "[4.0]", 0, 4) + "}", "whole numbers"},
      {"{" + entry("a", "U8", "[4e0]", 0, 4) + "}", "whole numbers"},
      {"{" + entry("a", "U8", "[-0]", 0, 0) + "}", "whole numbers"},
      {"{" + entry("a", "U8", "[04]", 0, 4) + "}", "not valid JSON"},
      {"{" + entry("a", "U8", "[\"4\"]", 0, 4) + "}", "a text"},
      {"{" + entry("a", "U8", "[4,1,1,1,1,1,1,1,1]", 0, 4) + "}", "more than 8"},
      // offsets
      {"{" + entry("a", "U8", "[4]", 8, 4) + "}", "8 and 4"},
      {"{" + entry("a", "U8", "[4]", 0, 3) + "}", "needs 4 bytes"},
      {"{" + entry("a", "F32", "[4]", 0, 4) + "}", "needs 16 bytes"},
      {"{" + entry("a", "U8", "[5]", 0, 5) + "}", "need 5 bytes, but 4"},
      {"{" + entry("a", "U8", "[3]", 0, 3) + "}", "need 3 bytes, but 4"},
      {"{" + entry("a", "U8", "[3]", 1, 4) + "}", "begins at 1"},
      {"{" + entry("a", "U8", "[4]", 0, 18446744073709551615u) + "}", "more than any file"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0]}}", "1 data offsets"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4,4]}}", "more than 2"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[]}}", "0 data offsets"},
      {"{" + entry("a", "U8", "[1]", 0, 1) + "," + entry("b", "U8", "[2]", 2, 4) + "}", "begins at 2"},
      {"{" + entry("a", "U8", "[3]", 0, 3) + "," + entry("b", "U8", "[2]", 2, 4) + "}", "overlaps"},
      {"{" + entry("a", "U8", "[4]", 0, 4) + "," + entry("b", "U8", "[4]", 0, 4) + "}", "overlaps"},
      {"{" + entry("a", "U8", "[4]", 0, 4) + "," + entry("b", "U8", "[0]", 2, 2) + "}", "overlaps"},
      {"{}", "need 0 bytes, but 4"},
      // metadata
      {"{\"__metadata__\":{\"k\":1}," + good + "}", "a number"},
      {"{\"__metadata__\":{\"k\":null}," + good + "}", "null"},
      {"{\"__metadata__\":{\"k\":{}}," + good + "}", "an object"},
      {"{\"__metadata__\":[]," + good + "}", "an array"},
      {"{\"__metadata__\":\"k\"," + good + "}", "a text"},
      {"{\"__metadata__\":{\"k\":\"v\",\"k\":\"v\"}," + good + "}", "twice"},
      {"{\"__metadata__\":{},\"__metadata__\":{}," + good + "}", "twice"},
      {"{" + entry("__metadata__", "U8", "[4]", 0, 4) + "}", "a"},
  };
  for (const auto& [header, expected] : cases) {
    const std::string error = refusal(file_of(header, data));
    INFO(header << "\n" << error);
    CHECK(has(error, expected));
  }
  const TemporaryFolder folder;
  CHECK(load_safetensors(put_file(folder / "f", file_of("{" + good + "}", data))).tensors.size() == 1);
}

TEST_CASE("a BOOL is 0 or 1", "[data]") {
  const TemporaryFolder folder;
  const std::string path = put_file(folder / "f", file_of("{" + entry("a", "BOOL", "[3]", 0, 3) + "}", "\1\1\2"));
  CHECK(has(message_of([&] { load_safetensors(path); }), "element 2"));
}

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

std::int64_t memory_in_kib(const char* field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::strtoll(line.c_str() + std::strlen(field) + 1, nullptr, 10);
  return -1;
}

/// How many MiB the memory of a new process grows at most while it loads the file; -1: not
/// measured.
int growth_in_mib(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream("/proc/self/clear_refs") << "5";  // resets the high-water mark
    const std::int64_t before = memory_in_kib("VmRSS");
    try {
      load_safetensors(path);
    } catch (const DataError&) {
    }
    const std::int64_t peak = memory_in_kib("VmHWM");
    _exit(before < 0 || peak < 0 ? 255 : static_cast<int>(std::min<std::int64_t>(254, (peak - before) / 1024)));
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("hostile headers take no more memory than the file and 16 MiB", "[data]") {
  const TemporaryFolder folder;
  constexpr std::size_t kSize = 40 << 20;
  const auto filled = [](std::string head, const auto& piece) {
    for (int i = 0; head.size() < kSize; ++i) head += piece(i);
    return file_of(head);
  };
  const std::pair<const char*, std::string> cases[] = {
      {"one text", filled("{\"", [](int) { return "aaaaaaaaaaaaaaaa"; })},
      {"one number", filled("{\"a\":{\"shape\":[", [](int) { return "1111111111111111"; })},
      {"arrays in arrays", filled("{\"a\":{\"shape\":[", [](int) { return "[[[[[[[["; })},
      {"objects in objects", filled("{", [](int) { return "\"a\":{"; })},
      {"a long shape", filled("{\"a\":{\"shape\":[0", [](int) { return ",0"; })},
      {"metadata keys",
       filled("{\"__metadata__\":{\"\":\"\"", [](int i) { return ",\"" + std::to_string(i) + "\":\"\""; })},
      {"long metadata",
       filled("{\"__metadata__\":{\"\":\"\"",
              [](int i) { return ",\"" + std::to_string(i) + "\":\"" + std::string(2'000'000, 'x') + '"'; })},
      {"empty tensors", filled("{" + entry("a", "U8", "[0]", 0, 0),
                               [](int i) { return "," + entry(std::to_string(i), "U8", "[0]", 0, 0); })},
      {"long names", filled("{" + entry("a", "U8", "[0]", 0, 0),
                            [](int i) {
                              const std::string name = std::to_string(i);
                              return "," + entry(name + std::string(1024 - name.size(), 'n'), "U8", "[0]", 0, 0);
                            })},
      {"spaces", filled("{", [](int) { return "                "; })},
  };
  for (const auto& [name, content] : cases) {
    const int growth = growth_in_mib(put_file(folder / "f", content));
    INFO(name << ": " << growth << " MiB");
    CHECK(growth >= 0);
    CHECK(growth <= static_cast<int>(content.size() >> 20) + 16);
  }
  // Many tensors of one byte: what each of them costs, beside its byte, is within the 16 MiB.
  std::string header = "{", separator;
  for (std::uint64_t i = 0; i < 16384; ++i, separator = ",")
    header += separator + entry(std::to_string(i), "U8", "[1]", i, i + 1);
  const int growth = growth_in_mib(put_file(folder / "f", file_of(header + "}", std::string(16384, 'x'))));
  INFO(growth << " MiB");
  CHECK(growth >= 0);
  CHECK(growth <= 16);
}
#endif
