#pragma once
// Integers that are ordered like the numbers they stand for, so that maxima vectorise and NaN has a
// place.
#include <bit>
#include <limits>

#include "reel/core/dtype.h"

namespace reel::kernels {

/// Signed integer of the width of the type that T is computed in.
template <class T>
using OrderKey = std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, std::int64_t, std::int32_t>;

/// Above infinity: stands for NaN.
template <class T>
inline constexpr OrderKey<T> kNanKey = std::numeric_limits<OrderKey<T>>::max();

/// Rises with v; +0 and -0 are one; NaN is the largest.
template <class T>
OrderKey<T> order_key(T v) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(v);
  } else {
    using K = OrderKey<T>;
    const Acc<T> a = convert<Acc<T>>(v) + 0;  // -0 + 0 = +0
    const K bits = std::bit_cast<K>(a);
    const K key = bits ^ ((bits >> (8 * sizeof(K) - 1)) & std::numeric_limits<K>::max());  // flips negative numbers
    return a == a ? key : kNanKey<T>;
  }
}
/// Rises as v falls; NaN is the largest again.
template <class T>
OrderKey<T> reverse_key(T v) {
  const OrderKey<T> key = order_key(v);
  if constexpr (std::is_integral_v<T>)
    return ~key;
  else
    return key == kNanKey<T> ? key : ~key;
}

/// The number of a key; undoes order_key or, when not `largest`, reverse_key.
template <class T>
T value_of(OrderKey<T> key, bool largest) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(largest ? key : ~key);
  } else {
    using K = OrderKey<T>;
    if (key == kNanKey<T>) return convert<T>(std::numeric_limits<Acc<T>>::quiet_NaN());
    const K k = largest ? key : ~key;
    return convert<T>(std::bit_cast<Acc<T>>(k ^ ((k >> (8 * sizeof(K) - 1)) & std::numeric_limits<K>::max())));
  }
}

}  // namespace reel::kernels
