#pragma once
// The element types, and exact conversions between them.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "reel/core/error.h"

namespace reel {

/// Element type of a tensor. The order of the floating types is the order of promotion.
enum class DType : std::uint8_t { boolean, u8, i32, i64, f16, bf16, f32, f64 };
inline constexpr int kDTypes = 8;

/// IEEE 754 binary16. It only stores: arithmetic is done in float.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float v);  ///< round to nearest, ties to even; 70000 becomes inf, 2^-25 becomes 0
  explicit operator float() const;
};

/// The upper half of a binary32: 8 exponent bits, 7 fraction bits. It only stores.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float v);  ///< round to nearest, ties to even; NaN stays NaN
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

constexpr std::size_t size_of(DType t) {
  constexpr std::size_t sizes[kDTypes] = {1, 1, 4, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(t)];
}
constexpr bool is_floating(DType t) {
  return t >= DType::f16;
}
constexpr bool is_half(DType t) {
  return t == DType::f16 || t == DType::bf16;
}
constexpr bool is_integer(DType t) {
  return t <= DType::i64;
}  ///< bool counts as an integer

/// "f16", "bool", ...: the spelling used in messages and files.
std::string_view name_of(DType t);
std::ostream& operator<<(std::ostream& os, DType t);
/// The reverse of `name_of`; throws DTypeError for an unknown name.
DType dtype_from(std::string_view name);

/// The dtype that holds both operands of a mixed operation: a floating type wins over an integer
/// type, else the wider wins; f16 with bf16 gives f32, since neither holds the other.
DType promote(DType a, DType b);

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::boolean;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::u8;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::i32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::i64;
  else if constexpr (std::is_same_v<T, Half>)
    return DType::f16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return DType::bf16;
  else if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else {
    static_assert(std::is_same_v<T, double>, "no DType for this C++ type");
    return DType::f64;
  }
}

/// The type that sums and formulas of `T` are computed in: float for half types, else T itself.
template <class T>
using Acc = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

/// Converts between any two element types. Integers to floats round to nearest even; floats to
/// integers truncate and saturate, NaN becomes 0; anything to bool is `!= 0`.
template <class To, class From>
inline To convert(From v) {
  constexpr bool from_half = !std::is_arithmetic_v<From>, to_half = !std::is_arithmetic_v<To>;
  if constexpr (std::is_same_v<To, From>)
    return v;
  else if constexpr (from_half)
    return convert<To>(static_cast<float>(v));
  else if constexpr (to_half && std::is_same_v<From, double>) {
    // Rounding twice (double, float, half) could differ from rounding once: round to odd first.
    float f = static_cast<float>(v);
    if (static_cast<double>(f) != v && v == v && f - f == 0.0f) {
      auto u = std::bit_cast<std::uint32_t>(f);
      const bool away = (f > 0) == (static_cast<double>(f) > v) && f != 0;
      if (away) u -= 1;
      f = std::bit_cast<float>(u | 1u);
    }
    return To(f);
  } else if constexpr (to_half && sizeof(From) == 8) {
    // Keep the top bits exactly and fold the rest into a sticky bit, for the same reason.
    const bool large = v > (From{1} << 53) || v < -(From{1} << 53);
    return convert<To>(static_cast<double>(large ? (v & ~From{0x7ff}) | (v & 0x7ff ? 0x800 : 0) : v));
  } else if constexpr (to_half)
    return convert<To>(static_cast<double>(v));
  else if constexpr (std::is_same_v<To, bool>)
    return v != From{};
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (!(v == v)) return 0;
    constexpr From lo = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From hi = static_cast<From>(std::numeric_limits<To>::max());
    if (v <= lo) return std::numeric_limits<To>::min();
    if (v >= hi) return std::numeric_limits<To>::max();
    return static_cast<To>(v);
  } else
    return static_cast<To>(v);
}

/// Calls `fn.template operator()<T>()` with the C++ type that stores `dtype`.
template <class Fn>
decltype(auto) visit(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::boolean:
      return std::forward<Fn>(fn).template operator()<bool>();
    case DType::u8:
      return std::forward<Fn>(fn).template operator()<std::uint8_t>();
    case DType::i32:
      return std::forward<Fn>(fn).template operator()<std::int32_t>();
    case DType::i64:
      return std::forward<Fn>(fn).template operator()<std::int64_t>();
    case DType::f16:
      return std::forward<Fn>(fn).template operator()<Half>();
    case DType::bf16:
      return std::forward<Fn>(fn).template operator()<BFloat16>();
    case DType::f32:
      return std::forward<Fn>(fn).template operator()<float>();
    case DType::f64:
      return std::forward<Fn>(fn).template operator()<double>();
  }
  fail<DTypeError>("visit: unknown dtype ", static_cast<int>(dtype));
}
/// The same for the four floating types only; DTypeError otherwise. `infer` has refused them before.
template <class Fn>
decltype(auto) visit_floating(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::f16:
      return std::forward<Fn>(fn).template operator()<Half>();
    case DType::bf16:
      return std::forward<Fn>(fn).template operator()<BFloat16>();
    case DType::f32:
      return std::forward<Fn>(fn).template operator()<float>();
    case DType::f64:
      return std::forward<Fn>(fn).template operator()<double>();
    default:
      fail<DTypeError>("a floating dtype is needed, but got ", name_of(dtype));
  }
}

// The conversions are written as arithmetic on bit patterns so that loops over them vectorise.

inline Half::Half(float v) {
  const auto u = std::bit_cast<std::uint32_t>(v);
  const std::uint32_t sign = (u >> 16) & 0x8000u;
  const std::uint32_t mag = u & 0x7fffffffu;
  // Normal: rebias the exponent from 127 to 15, add half an ulp less the tie bit, drop 13 bits.
  const std::uint32_t normal = (mag + 0xc8000fffu + ((mag >> 13) & 1u)) >> 13;
  // Subnormal: adding 0.5 makes the float unit round at 2^-24, the spacing of subnormal halves.
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(mag < 0x38800000u ? mag : 0u) + 0.5f) - 0x3f000000u;
  std::uint32_t r = mag < 0x38800000u ? small : normal;
  r = mag >= 0x477ff000u ? 0x7c00u : r;  // 65520 and above round to infinity
  r = mag > 0x7f800000u ? 0x7e00u : r;   // NaN stays NaN
  bits = static_cast<std::uint16_t>(sign | r);
}

inline Half::operator float() const {
  const std::uint32_t sign = (std::uint32_t{bits} & 0x8000u) << 16;
  const std::uint32_t mag = bits & 0x7fffu;
  const std::uint32_t normal = (mag << 13) + 0x38000000u;
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(0x3f000000u | mag) - 0.5f);
  std::uint32_t r = mag < 0x0400u ? small : normal;
  r = mag >= 0x7c00u ? (0x7f800000u | (mag << 13)) : r;
  return std::bit_cast<float>(sign | r);
}

inline BFloat16::BFloat16(float v) {
  const auto u = std::bit_cast<std::uint32_t>(v);
  const std::uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
  bits = static_cast<std::uint16_t>(nan ? ((u >> 16) | 0x40u) : rounded);
}

}  // namespace reel
