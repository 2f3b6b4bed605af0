#include "reel/core/dtype.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reel/tests/support/catch.h"

using namespace reel;

namespace {

/// The values of all finite non-negative numbers of a half type, ascending: index = bit pattern.
template <class H>
std::vector<double> ladder(unsigned first_infinite) {
  std::vector<double> v;
  for (unsigned b = 0; b < first_infinite; ++b) {
    H h;
    h.bits = static_cast<std::uint16_t>(b);
    v.push_back(static_cast<double>(static_cast<float>(h)));
  }
  return v;
}

/// Nearest rung, ties to the even bit pattern, infinity from half a step above the last: the definition.
std::uint16_t nearest(const std::vector<double>& rungs, double x) {
  const double a = std::fabs(x);
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double step = rungs.back() - rungs[rungs.size() - 2];
  if (a >= rungs.back() + step / 2) return static_cast<std::uint16_t>(sign | rungs.size());
  const auto above = static_cast<std::size_t>(std::lower_bound(rungs.begin(), rungs.end(), a) - rungs.begin());
  if (above == rungs.size()) return static_cast<std::uint16_t>(sign | (above - 1));
  if (above == 0 || rungs[above] == a) return static_cast<std::uint16_t>(sign | above);
  const double up = rungs[above] - a, down = a - rungs[above - 1];
  const std::size_t pick = up < down || (up == down && above % 2 == 0) ? above : above - 1;
  return static_cast<std::uint16_t>(sign | pick);
}

}  // namespace

TEST_CASE("f16 and bf16 keep all their values through float", "[dtype]") {
  for (unsigned b = 0; b < 0x10000; ++b) {
    Half h;
    BFloat16 g;
    h.bits = g.bits = static_cast<std::uint16_t>(b);
    const float x = static_cast<float>(h), y = static_cast<float>(g);
    if (std::isnan(x))
      CHECK(std::isnan(static_cast<float>(Half(x))));
    else if (Half(x).bits != b)
      FAIL("f16 " << b);
    if (std::isnan(y))
      CHECK(std::isnan(static_cast<float>(BFloat16(y))));
    else if (BFloat16(y).bits != b)
      FAIL("bf16 " << b);
  }
}

TEST_CASE("conversions round to nearest even", "[dtype]") {
  const auto f16 = ladder<Half>(0x7c00), bf16 = ladder<BFloat16>(0x7f80);
  std::uint64_t checked = 0;
  for (std::uint64_t u = 0; u < 0x100000000; u += 9973) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(u));
    if (std::isnan(x)) continue;
    ++checked;
    if (Half(x).bits != nearest(f16, x)) FAIL("f16 of " << x);
    if (BFloat16(x).bits != nearest(bf16, x)) FAIL("bf16 of " << x);
  }
  CHECK(checked > 400'000);
  // Exactly between two numbers, and one step of float to each side.
  for (std::size_t i = 0; i + 1 < f16.size(); i += 7) {
    const auto middle = static_cast<float>((f16[i] + f16[i + 1]) / 2);
    for (const float x : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e6f), -middle})
      if (Half(x).bits != nearest(f16, x)) FAIL("f16 of " << x);
  }
}

TEST_CASE("conversions at the edges", "[dtype]") {
  CHECK(std::isinf(static_cast<float>(Half(70000.0f))));
  CHECK(static_cast<float>(Half(65519.0f)) == 65504.0f);
  CHECK(std::isinf(static_cast<float>(Half(65520.0f))));
  CHECK(static_cast<float>(Half(0x1p-25f)) == 0.0f);
  CHECK(static_cast<float>(Half(0x1.000002p-25f)) == 0x1p-24f);
  CHECK(static_cast<float>(Half(0x1p-24f)) == 0x1p-24f);
  CHECK(std::signbit(static_cast<float>(Half(-0.0f))));
  CHECK(static_cast<float>(BFloat16(0.999f)) == 1.0f);
  CHECK(static_cast<float>(BFloat16(1.00390625f)) == 1.0f);  // a tie goes to even
  CHECK(std::isinf(static_cast<float>(BFloat16(std::numeric_limits<float>::max()))));
}

TEST_CASE("double and large integers are rounded once, not twice", "[dtype]") {
  // Just above the tie of two halves: through float it would become the tie and go to even.
  const double x = 1.0 + 0x1p-11 + 0x1p-40;
  CHECK(static_cast<float>(static_cast<float>(x)) == 1.0f + 0x1p-11f);
  CHECK(convert<double>(convert<Half>(x)) == 1.0 + 0x1p-10);
  CHECK(convert<double>(convert<Half>(-x)) == -1.0 - 0x1p-10);
  CHECK(convert<double>(convert<BFloat16>(1.0 + 0x1p-8 + 0x1p-40)) == 1.0 + 0x1p-7);
  const std::int64_t n = (std::int64_t{1} << 60) + (std::int64_t{1} << 52) + 1;  // above a tie of bf16
  CHECK(convert<double>(convert<BFloat16>(n)) == 0x1p60 + 0x1p53);
  CHECK(convert<double>(convert<BFloat16>(-n)) == -0x1p60 - 0x1p53);
}

TEST_CASE("floats become integers by truncation, saturating; NaN becomes 0", "[dtype]") {
  CHECK(convert<std::int32_t>(-2.9f) == -2);
  CHECK(convert<std::int32_t>(1e20) == std::numeric_limits<std::int32_t>::max());
  CHECK(convert<std::int64_t>(-1e30f) == std::numeric_limits<std::int64_t>::min());
  CHECK(convert<std::uint8_t>(-1.0f) == 0);
  CHECK(convert<std::uint8_t>(256.0f) == 255);
  CHECK(convert<std::int64_t>(std::nan("")) == 0);
  CHECK(convert<bool>(0.5f));
  CHECK_FALSE(convert<bool>(Half(0.0f)));
}

TEST_CASE("every pair of dtypes has a promotion that holds both", "[dtype]") {
  for (int a = 0; a < kDTypes; ++a)
    for (int b = 0; b < kDTypes; ++b) {
      const auto x = static_cast<DType>(a), y = static_cast<DType>(b), p = promote(x, y);
      CHECK(p == promote(y, x));
      CHECK(p >= std::max(x, y));
      CHECK(is_floating(p) == (is_floating(x) || is_floating(y)));
    }
  CHECK(promote(DType::f16, DType::bf16) == DType::f32);
  CHECK(promote(DType::i64, DType::f16) == DType::f16);
  CHECK(promote(DType::boolean, DType::u8) == DType::u8);
}

TEST_CASE("names of dtypes", "[dtype]") {
  for (int a = 0; a < kDTypes; ++a) CHECK(dtype_from(name_of(static_cast<DType>(a))) == static_cast<DType>(a));
  CHECK_THROWS_WITH(dtype_from("float32"), Catch::Matchers::Contains("unknown name \"float32\""));
}
