// Elementary functions for element-wise kernels.
//
// The float overloads are branch-free: selects instead of ifs, exponent arithmetic on the bits,
// no tables and no library calls other than fma, fabs and copysign. A loop over an array therefore
// vectorises (g++ -O3 -march=native -fopenmp-simd -fno-math-errno -fno-trapping-math), and the same
// lines compile as device code. Every product whose rounding matters is an explicit std::fma, so
// the results do not depend on -ffp-contract; without FMA hardware they are the same, only slow.
// They must not be compiled with -ffast-math, which would undo the compensated steps.
//
// Each float function is within 2 ulp for every argument, subnormal arguments and results
// included; NaN gives NaN. The "measured" figures are maxima, over all 2^32 arguments, of the
// distance to the double result in units of the float spacing at that result. Coefficients are
// minimax fits (Remez exchange) computed for this file: each was rounded to float, lowest degree
// first, and the remaining ones refitted. The quoted errors are those of the rounded polynomials.
//
// The double overloads defer to the standard library: accuracy first.

#ifndef REEL_KERNELS_MATH_ELEMENTARY_H_
#define REEL_KERNELS_MATH_ELEMENTARY_H_

#include <cmath>
#include <cstdint>
#include <limits>

#ifndef REEL_HD
#ifdef __CUDACC__
#define REEL_HD __host__ __device__
#else
#define REEL_HD
#endif
#endif

namespace reel::math {

namespace detail {

inline constexpr float inf = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// ln 2 = ln2_hi + ln2_lo to 2^-54; ln2_hi is the nearest float.
inline constexpr float ln2_hi = 0x1.62e430p-1f;
inline constexpr float ln2_lo = -0x1.05c610p-29f;
inline constexpr float sqrt_half = 0x1.6a09e6p-1f;
inline constexpr std::uint32_t sign_bit = 0x80000000u;

// The builtin rather than std::bit_cast, which is not a device function. Unsigned, because for
// arguments whose result is replaced afterwards the bit arithmetic may wrap.
REEL_HD inline std::uint32_t to_bits(float x) {
  return __builtin_bit_cast(std::uint32_t, x);
}
REEL_HD inline float from_bits(std::uint32_t b) {
  return __builtin_bit_cast(float, b);
}

// 2^n for -127 < n < 128, and infinity for n = 128.
REEL_HD inline float pow2(std::int32_t n) {
  return from_bits(static_cast<std::uint32_t>(n + 127) << 23);
}

// x * 2^n for |n| <= 252. The first product is exact for |x| near 1; only the second can round (to
// a subnormal) or overflow.
REEL_HD inline float scale(float x, std::int32_t n) {
  const std::int32_t half = n >> 1;
  return x * pow2(half) * pow2(n - half);
}

// x = n ln2 + hi + lo with integer n and |hi + lo| < 0.3467, and tail = e^(hi + lo) - 1 - hi.
struct exp_parts {
  std::int32_t n;
  float hi;
  float tail;
};

// Requires |x| <= 128. Adding 1.5 * 2^23 rounds x/ln2 to an integer and leaves it in the low bits.
// hi is exact: its bits lie between 2^-25 and 2^-2. tail = r^2 q(r) + lo with r = hi + lo, q =
// minimax fit of (e^r - 1 - r) / r^2, degree 5 on [-0.3467, 0.3467], max error 9.6e-10 relative to
// e^r - 1.
REEL_HD inline exp_parts exp_split(float x) {
  constexpr float log2_e = 0x1.715476p+0f;
  constexpr float round = 0x1.8p+23f;
  const float t = std::fma(x, log2_e, round);
  const float n = t - round;
  const float hi = std::fma(n, -ln2_hi, x);
  const float lo = n * -ln2_lo;
  const float r = std::fma(n, -ln2_lo, hi);
  float q = 0.000195425877f;
  q = std::fma(q, r, 0.00139328931f);
  q = std::fma(q, r, 0.00833378918f);
  q = std::fma(q, r, 0.0416664965f);
  q = std::fma(q, r, 0.166666657f);
  q = std::fma(q, r, 0.5f);
  return {static_cast<std::int32_t>(to_bits(t) - to_bits(round)), hi, std::fma(r * r, q, lo)};
}

// log(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2)]: -f^2/2 + f^3 p(f), p = minimax fit of degree 7,
// max error 6.3e-9 relative to log(1 + f).
REEL_HD inline float log1p_tail(float f) {
  float p = -0.0764201209f;
  p = std::fma(p, f, 0.127664715f);
  p = std::fma(p, f, -0.131594956f);
  p = std::fma(p, f, 0.142009482f);
  p = std::fma(p, f, -0.166233346f);
  p = std::fma(p, f, 0.200012609f);
  p = std::fma(p, f, -0.250008225f);
  p = std::fma(p, f, 0.333333313f);
  return f * f * std::fma(p, f, -0.5f);
}

// The k for which x * 2^-k lies in [sqrt(1/2), sqrt(2)), for positive normal x.
REEL_HD inline std::int32_t log2_exponent(float x) {
  return static_cast<std::int32_t>(to_bits(x) - to_bits(sqrt_half)) >> 23;
}

// sin(a + shift pi/2) for a >= 0. The reduction runs in double, which makes it right for every
// finite float without a table or a branch.
// 1. a >= 2^50 is a multiple of 2^27, so a = y 2^27 with integer y, and a equals y m modulo 2 pi,
//    m being the residue of 2^27 nearest 0. Likewise 2^54 from 2^77 and 2^79 from 2^102. With
//    m 2^-27 = c + d to 107 bits, a (c + d) = p - e, |p| < 2^50, where p = a c rounded and e is its
//    exact rounding error less a d.
// 2. r = p - e - n pi/2 for the nearest integer n, with pi/2 = half_pi_hi + half_pi_lo.
//    p - n half_pi_hi is exact under fma, its bits lying between 2^-52 and 2^-1. What is lost in
//    the rest is below 2^-55, and no float is closer than 2^-30 to a multiple of pi/2.
// 3. The quadrant n + shift picks sin r = r + r^3 s(r^2) or cos r = 1 - r^2/2 + r^4 c(r^2), and the
//    sign. |r| < 0.84: pi/4, and the error of n when p is huge. s and c are minimax fits of
//    degree 2, max relative error 6.8e-9 and 4.2e-10.
REEL_HD inline float sin_shifted(float a, std::uint32_t shift) {
  constexpr double half_pi_hi = 0x1.921fb54442d18p+0;
  constexpr double half_pi_lo = 0x1.1a62633145c07p-54;
  constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
  constexpr double round = 0x1.8p+52;
  const double x = static_cast<double>(a);
  double c_hi = x >= 0x1p50 ? -0x1.bcb4a23e73336p-28 : 1.0;
  double c_lo = x >= 0x1p50 ? -0x1.4cc11b4920ae8p-84 : 0.0;
  c_hi = x >= 0x1p77 ? 0x1.0392366c0e65cp-53 : c_hi;
  c_lo = x >= 0x1p77 ? -0x1.af1dbc98e2e42p-110 : c_lo;
  c_hi = x >= 0x1p102 ? -0x1.082d219bb0225p-80 : c_hi;
  c_lo = x >= 0x1p102 ? 0x1.29b05b18df9e2p-135 : c_lo;
  const double p = x * c_hi;
  const double e = std::fma(-x, c_lo, std::fma(-x, c_hi, p));

  const double t = std::fma(p, two_over_pi, round);  // n in the low bits, as in exp_split
  const double n = t - round;
  const auto r = static_cast<float>(std::fma(-n, half_pi_hi, p) - std::fma(n, half_pi_lo, e));
  const auto quadrant = static_cast<std::uint32_t>(__builtin_bit_cast(std::uint64_t, t)) + shift;

  const float z = r * r;
  float s = -0.000194710607f;
  s = std::fma(s, z, 0.00833182596f);
  s = std::fma(s, z, -0.166666493f);
  s = std::fma(r * z, s, r);
  float c = 2.44228377e-05f;
  c = std::fma(c, z, -0.00138873269f);
  c = std::fma(c, z, 0.0416666493f);
  c = std::fma(std::fma(c, z, -0.5f), z, 1.0f);
  const float result = (quadrant & 1u) != 0u ? c : s;
  return from_bits(to_bits(result) ^ ((quadrant & 2u) << 30));
}

}  // namespace detail

// e^x = 2^n (1 + (e^r - 1)), see exp_split. At the upper clamp scale overflows. Below -104, where
// the result is 0, e^0 is computed and dropped: underflowing products are slow on many processors,
// and a masked softmax takes e^-inf often.
// Measured: 0.85 ulp.
REEL_HD inline float exp(float x) {
  const bool zero = x < -104.0f;
  float y = x > 89.0f ? 89.0f : x;
  y = zero ? 0.0f : y;
  const detail::exp_parts e = detail::exp_split(y);
  const float result = detail::scale(1.0f + (e.hi + e.tail), e.n);
  return zero ? 0.0f : result;
}
REEL_HD inline double exp(double x) {
  return std::exp(x);
}

// e^x - 1 = 2 ((s - 1/2) + s (e^r - 1)) with s = 2^(n - 1), which is finite where 2^n is not. For
// n = 0 it is e^r - 1, which must not lose the low bits of a subnormal. The clamp at 88.75 still
// overflows; below -18 the result rounds to -1. copysign restores -0.
// Measured: 1.16 ulp.
REEL_HD inline float expm1(float x) {
  float y = x > 88.75f ? 88.75f : x;
  y = y < -18.0f ? -18.0f : y;
  const detail::exp_parts e = detail::exp_split(y);
  const float s = detail::pow2(e.n - 1);
  const float half = std::fma(s, e.tail, std::fma(s, e.hi, s - 0.5f));
  return std::copysign(e.n == 0 ? e.hi + e.tail : 2.0f * half, x);
}
REEL_HD inline double expm1(double x) {
  return std::expm1(x);
}

// log x = k ln2 + log(1 + f), x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), see log1p_tail. The
// small terms are added first. Subnormals are scaled by 2^23 beforehand.
// Measured: 0.93 ulp.
REEL_HD inline float log(float x) {
  const bool tiny = x < 0x1p-126f;
  const float y = tiny ? x * 0x1p23f : x;
  const std::int32_t k = detail::log2_exponent(y);
  const float f = detail::from_bits(detail::to_bits(y) - (static_cast<std::uint32_t>(k) << 23)) - 1.0f;
  const float n = static_cast<float>(tiny ? k - 23 : k);
  const float low = std::fma(n, detail::ln2_lo, detail::log1p_tail(f));
  float result = std::fma(n, detail::ln2_hi, f + low);
  result = x == 0.0f ? -detail::inf : result;
  result = x < 0.0f ? detail::nan : result;
  return x < detail::inf ? result : x;
}
REEL_HD inline double log(double x) {
  return std::log(x);
}

// log(1 + x) as in log, with 2^k taken from the rounded 1 + x but f = 2^-k x + (2^-k - 1) from x
// itself in one rounding (2^-k - 1 is exact for |k| <= 24, and its error is negligible beyond).
// 2^-k is applied as 2^(2 - k) / 4 since 2^-128 is subnormal; for k = 0, f = x, which must not lose
// the low bits of a subnormal. copysign restores -0.
// Measured: 1.53 ulp.
REEL_HD inline float log1p(float x) {
  const std::int32_t k = detail::log2_exponent(1.0f + x);
  const float s = detail::pow2(2 - k);
  const float f = k == 0 ? x : std::fma(s, 0.25f * x, std::fma(s, 0.25f, -1.0f));
  const float n = static_cast<float>(k);
  const float low = std::fma(n, detail::ln2_lo, detail::log1p_tail(f));
  float result = std::copysign(std::fma(n, detail::ln2_hi, f + low), x);
  result = x == -1.0f ? -detail::inf : result;
  result = x < -1.0f ? detail::nan : result;
  return x < detail::inf ? result : x;
}
REEL_HD inline double log1p(double x) {
  return std::log1p(x);
}

// Below atanh(1/2) = 0.549: x + x^3 p(x^2), p = minimax fit of degree 4 in x^2 on [0, 0.55], max
// relative error 1.2e-9. Above: 1 - 2 / (e^(2|x|) + 1), where the subtrahend is at most 1/2 and its
// error shrinks with it; it rounds to 1 from |x| = 9.02.
// Measured: 1.75 ulp.
REEL_HD inline float tanh(float x) {
  const float a = std::fabs(x);
  const float z = a * a;
  float p = -0.0062428494f;
  p = std::fma(p, z, 0.021050714f);
  p = std::fma(p, z, -0.0538475476f);
  p = std::fma(p, z, 0.133325443f);
  p = std::fma(p, z, -0.333333164f);
  const float inner = std::fma(a * z, p, a);

  const detail::exp_parts e = detail::exp_split(a > 9.5f ? 19.0f : 2.0f * a);
  const float exp_2a = (1.0f + (e.hi + e.tail)) * detail::pow2(e.n);
  const float outer = 1.0f - 2.0f / (exp_2a + 1.0f);
  return std::copysign(a < 0.549f ? inner : outer, x);
}
REEL_HD inline double tanh(double x) {
  return std::tanh(x);
}

// Below 1: x + x p(x^2), p = minimax fit of degree 6 in x^2 to erf(x)/x - 1, max relative error
// 1.5e-9. Above: 1 - e^q(|x|), q = minimax fit of degree 6 to log erfc on [1, 3.95], max error
// 1.1e-9 relative to erf; it rounds to 1 from |x| = 3.92.
// Measured: 1.09 ulp.
REEL_HD inline float erf(float x) {
  const float a = std::fabs(x);
  const float z = a * a;
  float p = 7.80690389e-05f;
  p = std::fma(p, z, -0.00079978531f);
  p = std::fma(p, z, 0.0051871622f);
  p = std::fma(p, z, -0.0268533472f);
  p = std::fma(p, z, 0.112835787f);
  p = std::fma(p, z, -0.37612626f);
  p = std::fma(p, z, 0.128379166f);
  const float inner = std::fma(a, p, a);

  const float y = a > 3.95f ? 3.95f : a;
  float q = 0.00018637882f;
  q = std::fma(q, y, -0.00294764363f);
  q = std::fma(q, y, 0.0218379889f);
  q = std::fma(q, y, -0.103106603f);
  q = std::fma(q, y, -0.63814497f);
  q = std::fma(q, y, -1.12708914f);
  q = std::fma(q, y, -0.000341523846f);
  const detail::exp_parts e = detail::exp_split(q);
  const float erfc = (1.0f + (e.hi + e.tail)) * detail::pow2(e.n);
  return std::copysign(a < 1.0f ? inner : 1.0f - erfc, x);
}
REEL_HD inline double erf(double x) {
  return std::erf(x);
}

// See sin_shifted; sin is odd.
// Measured: 1.58 ulp.
REEL_HD inline float sin(float x) {
  const float s = detail::sin_shifted(std::fabs(x), 0u);
  return detail::from_bits(detail::to_bits(s) ^ (detail::to_bits(x) & detail::sign_bit));
}
REEL_HD inline double sin(double x) {
  return std::sin(x);
}

// See sin_shifted; cos is even, and a quarter turn ahead.
// Measured: 1.59 ulp.
REEL_HD inline float cos(float x) {
  return detail::sin_shifted(std::fabs(x), 1u);
}
REEL_HD inline double cos(double x) {
  return std::cos(x);
}

// t = u / (1 + u) for x < 0 and 1 - t for x >= 0, where u = e^-|x| = 2^n p, see exp_split. A
// relative error of u reaches t in full where u is small, so the rounding error p_lo of p is put
// back: by dt/du = (1 - t)^2 it adds (1 - t)^2 p_lo to q = t 2^-n. 2^n may be subnormal and is
// applied in two steps. At the clamp t is 0.
// Measured: 1.98 ulp.
REEL_HD inline float sigmoid(float x) {
  const float y = -std::fabs(x);
  const detail::exp_parts e = detail::exp_split(y < -105.0f ? -105.0f : y);
  const float r = e.hi + e.tail;
  const float p = 1.0f + r;
  const float p_lo = r - (p - 1.0f);
  const std::int32_t half = e.n >> 1;
  const float s1 = detail::pow2(half);
  const float s2 = detail::pow2(e.n - half);
  const float q = p / std::fma(p * s1, s2, 1.0f);
  const float w = std::fma(-q * s1, s2, 1.0f);
  const float t = std::fma(p_lo * w, w, q) * s1 * s2;
  return x < 0.0f ? t : 1.0f - t;
}
REEL_HD inline double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

// log(1 + e^x) = max(x, 0) + log(1 + u), u = e^-|x| in [0, 1]. As in log1p, 1 + u = 2^k (1 + f)
// with k = 0 below sqrt(2) and 1 above. k and f follow from the one select s = 2^-k: with a select
// each, GCC evaluates the polynomial twice.
// Measured: 1.79 ulp.
REEL_HD inline float softplus(float x) {
  const float y = -std::fabs(x);
  const detail::exp_parts e = detail::exp_split(y < -105.0f ? -105.0f : y);
  const float u = detail::scale(1.0f + (e.hi + e.tail), e.n);
  const float s = u > 0.414f ? 0.5f : 1.0f;
  const float k = 2.0f - 2.0f * s;
  const float f = std::fma(s, u, s - 1.0f);
  const float low = std::fma(k, detail::ln2_lo, detail::log1p_tail(f));
  return (x > 0.0f ? x : 0.0f) + std::fma(k, detail::ln2_hi, f + low);
}
REEL_HD inline double softplus(double x) {
  return (x > 0.0 ? x : 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

}  // namespace reel::math

#endif  // REEL_KERNELS_MATH_ELEMENTARY_H_
