#pragma once
// Single numbers that losses read and write.
#include "reel/kernels/view.h"

namespace reel::kernels {

inline double read_number(const View& v) {
  return visit(v.dtype, [&]<class T>() { return convert<double>(*v.as<T>()); });
}
inline void write_number(const View& v, double value) {
  visit(v.dtype, [&]<class T>() { *v.as<T>() = convert<T>(value); });
}

}  // namespace reel::kernels
