#include <cstring>

#include "reel/core/view.h"
#include "reel/data/safetensors.h"
#include "reel/tests/data_support.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using namespace reel::data;
using namespace reel::test;

namespace {

/// Every bit pattern matters: n elements of odd bytes (of 0 and 1 for bool).
Tensor patterned(DType dtype, const Shape& shape) {
  Tensor t = Tensor::empty(shape, dtype);
  const auto bytes = static_cast<std::size_t>(t.numel()) * size_of(dtype);
  for (std::size_t i = 0; i < bytes; ++i)
    t.raw()[i] = static_cast<std::byte>(dtype == DType::boolean ? i % 3 == 0 : i * 167 + 13);
  return t;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         (a.numel() == 0 || std::memcmp(a.raw(), b.raw(), static_cast<std::size_t>(a.meta().bytes())) == 0);
}

}  // namespace

TEST_CASE("safetensors keeps every dtype, shape and byte", "[data]") {
  const TemporaryFolder folder;
  std::map<std::string, Tensor> tensors;
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string name(name_of(dtype));
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{3, 5}, Shape{2, 0, 4}, Shape{1, 2, 1, 3, 1, 2, 1, 3}})
      tensors[name + "." + std::to_string(shape.rank()) + std::to_string(numel(shape))] = patterned(dtype, shape);
  }
  tensors["name \"\\\n\u00e9\u4e2d"] = patterned(DType::u8, {3});
  tensors[""] = patterned(DType::f32, {2});
  const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"", ""}, {"\"q\"", "line\nbreak \u00e9"}};
  const std::string path = folder / "f";
  save_safetensors(path, tensors, metadata);
  const SafeTensors back = load_safetensors(path);
  CHECK(back.metadata == metadata);
  REQUIRE(back.tensors.size() == tensors.size());
  for (const auto& [name, t] : tensors) {
    INFO(name);
    REQUIRE(back.tensors.count(name) == 1);
    CHECK(same_bytes(back.tensors.at(name), t));
  }
  const std::string bytes = get_file(path);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  CHECK((8 + length) % 64 == 0);
  save_safetensors(folder / "again", back.tensors, back.metadata);
  CHECK(get_file(folder / "again") == bytes);
}

TEST_CASE("safetensors files have the documented bytes", "[data]") {
  const TemporaryFolder folder;
  const std::string path = folder / "f";
  save_safetensors(path, {{"a", Tensor::from({2}, std::vector<std::uint8_t>{1, 2})},
                          {"b", Tensor::from({1, 1}, {1.0f})},
                          {"c", Tensor::from({}, std::vector<std::int64_t>{-2})},
                          {"d", Tensor::from({1}, std::vector<std::int32_t>{5})}});
  std::string header = "{" + entry("c", "I64", "[]", 0, 8) + "," + entry("b", "F32", "[1,1]", 8, 12) + "," +
                       entry("d", "I32", "[1]", 12, 16) + "," + entry("a", "U8", "[2]", 16, 18) + "}";
  while ((header.size() + 8) % 64) header += ' ';
  CHECK(get_file(path) ==
        file_of(header, number(~std::uint64_t{1}, 8) + number(0x3f800000, 4) + number(5, 4) + "\1\2"));
  save_safetensors(path, {});
  CHECK(get_file(path) == file_of("{}" + std::string(54, ' ')));
  CHECK(load_safetensors(path).tensors.empty());
}

TEST_CASE("views are written by value", "[data]") {
  const TemporaryFolder folder;
  const Tensor t = patterned(DType::f32, {4, 6, 5});
  const Tensor views[] = {view::transpose(t, 0, 2), view::slice(t, 1, 1, 6, 2), view::select(t, 2, 3),
                          view::expand(view::slice(t, 0, 1, 2), {3, 6, 5}), view::permute(t, {1, 2, 0})};
  for (const Tensor& v : views) {
    save_safetensors(folder / "f", {{"v", v}});
    const Tensor back = load_safetensors(folder / "f").tensors.at("v");
    REQUIRE(back.shape() == v.shape());
    const std::vector<float> expected = v.to_vector<float>(), got = back.to_vector<float>();
    CHECK(std::memcmp(expected.data(), got.data(), expected.size() * 4) == 0);
  }
}

TEST_CASE("safetensors from other writers are read", "[data]") {
  const TemporaryFolder folder;
  // No padding, numbers at odd addresses, entries out of order, spaces, escapes.
  const std::string header = "{ \"w\" : {\"data_offsets\":[3, 7],\"shape\":[1],\"dtype\":\"F32\"},\n" +
                             entry("\\u0061", "U8", "[3]", 0, 3) + ",\"__metadata__\":{\"k\":\"v\"}}  ";
  const SafeTensors s = load_safetensors(put_file(folder / "f", file_of(header, "abc" + number(0x40490fdb, 4))));
  CHECK(s.tensors.at("w").item() == Approx(3.14159274));
  CHECK(s.tensors.at("a").to_vector<std::int64_t>() == std::vector<std::int64_t>{97, 98, 99});
  CHECK(s.metadata.at("k") == "v");
  // A header of 0x8b1f bytes begins like gzip.
  std::string padded = "{" + entry("a", "U8", "[1]", 0, 1) + "}";
  padded.resize(0x8b1f, ' ');
  CHECK(load_safetensors(put_file(folder / "g", file_of(padded, "x"))).tensors.size() == 1);
}

TEST_CASE("what cannot be saved is refused and the old file stays", "[data]") {
  const TemporaryFolder folder;
  const std::string path = put_file(folder / "f", "old");
  const Tensor t = Tensor::zeros({2});
  CHECK_THROWS_AS(save_safetensors(path, {{"__metadata__", t}}), ValueError);
  CHECK_THROWS_AS(save_safetensors(path, {{"a", Tensor{}}}), ValueError);
  CHECK_THROWS_AS(save_safetensors(path, {{"\xff", t}}), ValueError);
  CHECK_THROWS_AS(save_safetensors(path, {{std::string(1025, 'n'), t}}), ValueError);
  CHECK_THROWS_AS(save_safetensors(path, {{"a", t}}, {{"k", "\xc3"}}), ValueError);
  CHECK_THROWS_AS(save_safetensors(path, {{"a", t}}, {{"k", std::string((2 << 20) + 1, 'v')}}), ValueError);
  std::map<std::string, Tensor> many;
  for (int i = 0; i <= 16384; ++i) many[std::to_string(i)] = t;
  CHECK_THROWS_AS(save_safetensors(path, many), ValueError);
  CHECK(get_file(path) == "old");
  CHECK(folder.files() == 1);
  many.erase("0");
  save_safetensors(path, many);
  CHECK(load_safetensors(path).tensors.size() == 16384);
  CHECK_THROWS_AS(load_safetensors(folder / "absent"), IoError);
}
