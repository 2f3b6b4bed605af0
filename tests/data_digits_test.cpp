#include <cmath>

#include "reel/data/csv.h"
#include "reel/data/loader.h"
#include "reel/data/sha256.h"
#include "reel/tests/data_support.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using namespace reel::data;
using namespace reel::test;

namespace {

/// A line of 64 pixels 3 and a label, with one field replaced.
std::string line(const std::string& label, int field = -1, const std::string& text = "") {
  std::string s;
  for (int i = 1; i <= 64; ++i) s += (i == field ? text : "3") + ",";
  return s + (field == 65 ? text : label);
}

}  // namespace

TEST_CASE("digits are the 1,797 images, split by index", "[data]") {
  if (!has_zlib()) return;
  const Samples all = read_digits_csv(data_folder() + "/digits/digits.csv.gz");
  REQUIRE(all.images.shape() == Shape{1797, 1, 8, 8});
  // Of the pixels and then the labels: another file, or another order, would show.
  Sha256 h;
  h.update(all.images.raw(), 1797 * 64);
  h.update(all.labels.raw(), 1797);
  CHECK(h.hex() == "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826");

  const Dataset train = digits("train"), test = digits("test");
  CHECK(train.size() == 1438);
  CHECK(test.size() == 359);
  std::int64_t at[2] = {0, 0};
  for (std::int64_t i = 0; i < 1797; ++i) {
    const bool is_test = i % 5 == 4;
    const Dataset& d = is_test ? test : train;
    const std::int64_t k = at[is_test]++;
    REQUIRE(d.labels.data<std::int64_t>()[k] == all.labels.data<std::uint8_t>()[i]);
    for (int p = 0; p < 64; ++p)
      REQUIRE(d.images.data<std::uint8_t>()[k * 64 + p] == all.images.data<std::uint8_t>()[i * 64 + p]);
  }
  CHECK_THROWS_AS(digits("both"), ValueError);
}

TEST_CASE("normalised digits have mean 0 and deviation 1", "[data]") {
  if (!has_zlib()) return;
  const Dataset train = digits("train");
  double sum = 0, squares = 0;
  for (const auto& [images, labels] : Loader(train, {.batch = train.size()}))
    for (const float v : images.to_vector<float>()) sum += v, squares += double{v} * v;
  const double n = static_cast<double>(train.images.numel()), mean = sum / n;
  CHECK(std::abs(mean) < 1e-3);
  CHECK(std::abs(std::sqrt(squares / n - mean * mean) - 1) < 1e-3);
}

TEST_CASE("lines of digits are read with either end of line", "[data]") {
  const TemporaryFolder folder;
  for (const char* end : {"\n", "\r\n"})
    for (const char* last : {"", end}) {
      const Samples s = read_digits_csv(put_file(folder / "f", line("0") + end + line("9", 2, "16") + last));
      CHECK(s.labels.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 9});
      CHECK(s.images.data<std::uint8_t>()[64] == 3);
      CHECK(s.images.data<std::uint8_t>()[65] == 16);
    }
  std::string many;
  for (int i = 0; i < 2000; ++i) many += line(std::to_string(i % 10)) + "\n";  // more than one buffer
  const Samples s = read_digits_csv(put_file(folder / "f", many));
  REQUIRE(s.labels.numel() == 2000);
  for (int i = 0; i < 2000; ++i) REQUIRE(s.labels.data<std::uint8_t>()[i] == i % 10);
  CHECK(read_digits_csv(put_file(folder / "f", "")).labels.numel() == 0);
}

TEST_CASE("bad lines are named by number and field", "[data]") {
  const TemporaryFolder folder;
  const std::pair<std::string, std::string> cases[] = {
      {line("1", 7, "17"), ":2: field 7 is '17'"},
      {line("1", 64, "-1"), ":2: field 64 is '-1'"},
      {line("10"), ":2: field 65 is '10'"},
      {line("1", 1, "nan"), ":2: field 1 is 'nan'"},
      {line("1", 5, "2.5"), ":2: field 5"},
      {line("1", 5, ""), ":2: field 5 is ''"},
      {line("1", 5, " 2"), ":2: field 5"},
      {line("1", 5, "99999999999"), ":2: field 5"},
      {line("1") + ",2", ":2: the line has more"},
      {line("1").substr(4), ":2: the line has only 63"},
      {"", ":2: field 1 is ''"},
      {std::string(600, '1'), ":2: the line has 600"},
      {line("1").substr(0, 128), ":2: field 65 is ''"},
  };
  for (const auto& [bad, expected] : cases) {
    const std::string path = put_file(folder / "f", line("1") + "\n" + bad + "\n" + line("1") + "\n");
    INFO(bad);
    CHECK(message_of([&] { read_digits_csv(path); }).find(path + expected) == 0);
  }
  const std::string endless = put_file(folder / "f", std::string(10'000'000, '1'));
  CHECK(message_of([&] { read_digits_csv(endless); }).find(endless + ":1: the line has") == 0);
}

TEST_CASE("the digits of a given folder are used", "[data]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(digits("train", folder.path()), IoError);
  std::string text;
  for (int i = 0; i < 10; ++i) text += line(std::to_string(i)) + "\n";
  put_file(folder / "digits.csv", text);
  CHECK(digits("test", folder.path()).labels.to_vector<std::int64_t>() == std::vector<std::int64_t>{4, 9});
}
