#include "reel/core/allocator_adaptors.h"
#include "reel/data/cifar.h"
#include "reel/data/dataset.h"
#include "reel/data/idx.h"
#include "reel/tests/data_support.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using namespace reel::data;
using namespace reel::test;

namespace {

std::string image_header(std::uint64_t n, std::uint64_t h, std::uint64_t w, std::uint64_t magic = 0x803) {
  return number(magic, 4, true) + number(n, 4, true) + number(h, 4, true) + number(w, 4, true);
}
std::string label_header(std::uint64_t n, std::uint64_t magic = 0x801) {
  return number(magic, 4, true) + number(n, 4, true);
}
std::string counting(std::size_t n) {
  std::string s;
  for (std::size_t i = 0; i < n; ++i) s += static_cast<char>(i);
  return s;
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string cifar_record(int label, int seed) {
  std::string s(1, static_cast<char>(label));
  for (int i = 0; i < 3072; ++i) s += static_cast<char>(i * 31 + seed);
  return s;
}

}  // namespace

TEST_CASE("IDX files are read, plain and compressed", "[data]") {
  const TemporaryFolder folder;
  const std::string images = image_header(2, 3, 4) + counting(24), labels = label_header(3) + counting(3);
  for (const bool packed : {false, true}) {
    if (packed && !has_zlib()) continue;
    const Tensor t = read_idx_images(put_file(folder / "images", packed ? gzip_stored(images) : images));
    CHECK(t.shape() == Shape{2, 3, 4});
    CHECK(t.dtype() == DType::u8);
    CHECK(std::string(reinterpret_cast<const char*>(t.raw()), 24) == counting(24));
    const Tensor l = read_idx_labels(put_file(folder / "labels", packed ? gzip_stored(labels) : labels));
    CHECK(l.shape() == Shape{3});
    CHECK(l.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 2});
  }
}

TEST_CASE("IDX files that are cut or too long are refused", "[data]") {
  const TemporaryFolder folder;
  const std::string images = image_header(2, 2, 3) + counting(12), labels = label_header(5) + counting(5);
  for (const bool packed : {false, true}) {
    if (packed && !has_zlib()) continue;
    const auto file = [&](const std::string& s) { return put_file(folder / "f", packed ? gzip_stored(s) : s); };
    for (std::size_t n = 0; n < images.size(); ++n) {
      INFO("images cut at " << n);
      CHECK_THROWS_AS(read_idx_images(file(images.substr(0, n))), DataError);
    }
    for (std::size_t n = 0; n < labels.size(); ++n) {
      INFO("labels cut at " << n);
      CHECK_THROWS_AS(read_idx_labels(file(labels.substr(0, n))), DataError);
    }
    CHECK_THROWS_AS(read_idx_images(file(images + "x")), DataError);
    CHECK_THROWS_AS(read_idx_labels(file(labels + "x")), DataError);
    CHECK(has(message_of([&] { read_idx_images(file(images.substr(0, 20))); }), "12 bytes, but 4 follow"));
  }
}

TEST_CASE("IDX headers that lie cost no memory", "[data]") {
  const TemporaryFolder folder;
  const auto counter = std::make_shared<CountingAllocator>();
  const AllocatorScope scope(counter);
  const std::uint64_t most = 0xffffffff;
  const std::uint64_t shapes[][3] = {{most, most, most}, {0, most, most}, {most, 28, 28},         {most, 1, 1},
                                     {1, 0, 5},          {most, 0, 0},    {1u << 31, 1u << 31, 4}};
  for (const auto& [n, h, w] : shapes) {
    INFO(n << " x " << h << " x " << w);
    const std::string file = image_header(n, h, w) + counting(100);
    CHECK_THROWS_AS(read_idx_images(put_file(folder / "f", file)), DataError);
    CHECK(counter->stats().peak == 0);
    if (!has_zlib()) continue;
    CHECK_THROWS_AS(read_idx_images(put_file(folder / "f", gzip_stored(file))), DataError);
    CHECK(counter->stats().peak <= 1 << 20);
    counter->reset_peak();
  }
}

TEST_CASE("compressed content grows past the first room", "[data]") {
  if (!has_zlib()) return;
  const TemporaryFolder folder;
  const std::string pixels = counting(3'000'000);
  const Tensor t = read_idx_images(put_file(folder / "f", gzip_stored(image_header(3000, 20, 50) + pixels)));
  CHECK(t.shape() == Shape{3000, 20, 50});
  CHECK(std::string(reinterpret_cast<const char*>(t.raw()), pixels.size()) == pixels);
}

TEST_CASE("a wrong magic number is shown with the right one", "[data]") {
  const TemporaryFolder folder;
  const std::string labels = put_file(folder / "l", label_header(9) + counting(9));
  const std::string error = message_of([&] { read_idx_images(labels); });
  CHECK(has(error, labels));
  CHECK(has(error, "0x00000801"));
  CHECK(has(error, "0x00000803"));
  CHECK_THROWS_AS(read_idx_images(put_file(folder / "f", image_header(1, 1, 1, 0x03080000) + "x")), DataError);
  CHECK_THROWS_AS(read_idx_labels(put_file(folder / "f", label_header(1, 0xD01) + "x")), DataError);
}

TEST_CASE("CIFAR-10 records are split into planes and labels", "[data]") {
  const TemporaryFolder folder;
  std::string first, second;
  for (int i = 0; i < 70; ++i) first += cifar_record(i % 10, i);
  second = cifar_record(9, 200);
  const std::vector<std::string> files = {put_file(folder / "1", first), put_file(folder / "2", second)};
  const Samples s = read_cifar10(files);
  REQUIRE(s.images.shape() == Shape{71, 3, 32, 32});
  for (int i = 0; i < 71; ++i) {
    const std::string record = i < 70 ? first.substr(static_cast<std::size_t>(i) * 3073, 3073) : second;
    REQUIRE(s.labels.data<std::uint8_t>()[i] == record[0]);
    REQUIRE(std::string(reinterpret_cast<const char*>(s.images.raw()) + i * 3072, 3072) == record.substr(1));
  }
  CHECK(has(message_of([&] { read_cifar10({put_file(folder / "f", first.substr(1))}); }), "215109"));
  const std::string error = message_of([&] { read_cifar10({put_file(folder / "f", first + cifar_record(10, 0))}); });
  CHECK(has(error, "record 70 has label 10"));
}

TEST_CASE("from_folder tells IDX from CIFAR-10", "[data]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(from_folder(folder.path(), "train"), IoError);
  CHECK_THROWS_AS(from_folder(folder.path(), "valid"), ValueError);
  put_file(folder / "data_batch_1.bin", cifar_record(3, 1));
  CHECK(has(message_of<IoError>([&] { cifar10("train", folder.path()); }), "data_batch_2.bin"));
  for (int i = 2; i <= 5; ++i) put_file(folder / ("data_batch_" + std::to_string(i) + ".bin"), cifar_record(i, i));
  put_file(folder / "test_batch.bin", cifar_record(7, 9) + cifar_record(8, 9));
  CHECK(from_folder(folder.path(), "train").images.shape() == Shape{5, 3, 32, 32});
  CHECK(cifar10("test", folder.path()).labels.to_vector<std::int64_t>() == std::vector<std::int64_t>{7, 8});

  put_file(folder / "t10k-images-idx3-ubyte", image_header(2, 2, 2) + counting(8));
  CHECK(has(message_of<IoError>([&] { from_folder(folder.path(), "test"); }), "t10k-labels-idx1-ubyte"));
  put_file(folder / "t10k-labels-idx1-ubyte", label_header(3) + counting(3));
  CHECK(has(message_of([&] { from_folder(folder.path(), "test"); }), "2 images"));
  put_file(folder / "t10k-labels-idx1-ubyte", label_header(2) + std::string("\1\0", 2));
  const Dataset d = from_folder(folder.path(), "test");
  CHECK(d.images.shape() == Shape{2, 1, 2, 2});
  CHECK(d.labels.to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 0});
  put_file(folder / "t10k-labels-idx1-ubyte", label_header(2) + "\1\x0a");
  CHECK(has(message_of([&] { mnist("test", folder.path()); }), "label 1 is 10"));
  CHECK_THROWS_AS(mnist("test", ""), IoError);
}

TEST_CASE("Fashion-MNIST is whole where it is installed", "[data]") {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist") || !has_zlib()) return;
  const Dataset d = fashion_mnist("test");
  CHECK(d.images.shape() == Shape{10'000, 1, 28, 28});
  std::vector<int> count(10);
  for (const std::int64_t label : d.labels.to_vector<std::int64_t>()) ++count[static_cast<std::size_t>(label)];
  CHECK(count == std::vector<int>(10, 1000));
  CHECK(fashion_mnist("train").size() == 60'000);
}
