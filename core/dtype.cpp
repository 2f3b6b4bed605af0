#include "reel/core/dtype.h"

#include <algorithm>
#include <ostream>

namespace reel {
namespace {
constexpr std::string_view kNames[kDTypes] = {"bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64"};
}  // namespace

std::string_view name_of(DType t) {
  return kNames[static_cast<int>(t)];
}

std::ostream& operator<<(std::ostream& os, DType t) {
  return os << name_of(t);
}

DType dtype_from(std::string_view name) {
  const auto* at = std::ranges::find(kNames, name);
  check<DTypeError>(at != std::end(kNames), "dtype: unknown name \"", name,
                    "\". Use one of bool, u8, i32, i64, f16, bf16, f32, f64");
  return static_cast<DType>(at - std::begin(kNames));
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_half(a) && is_half(b)) return DType::f32;
  return std::max(a, b);  // the enumeration is in the order of promotion
}

}  // namespace reel
