#pragma once
// Conversions in the form that GCC 12 vectorises: half numbers are read and written through their bits.
#include "reel/core/dtype.h"

namespace reel::kernels {

template <class To, class From>
inline void convert_into(To& y, const From& x) {
  From v;
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>)
    v.bits = x.bits;
  else
    v = x;
  if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>)
    y.bits = convert<To>(v).bits;
  else
    y = convert<To>(v);
}

}  // namespace reel::kernels
