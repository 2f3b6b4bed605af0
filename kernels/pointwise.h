#pragma once
// Kernels that compute each element of the output from the elements at the same place of the inputs.
// Inputs broadcast to the output's shape; any strides. Half types are computed in float.
#include "reel/kernels/view.h"

namespace reel::kernels {

/// y = f(x); floating dtypes, x and y alike.
template <class F>
void map(const Exec&, const View& x, const View& y, F f);
/// dx = dy * df(x, y)
template <class F>
void map_grad(const Exec&, const View& x, const View& y, const View& dy, const View& dx, F f);
/// out = a * b * ddf(x, y), for functions that have ddf
template <class F>
void map_grad2(const Exec&, const View& x, const View& y, const View& a, const View& b, const View& out, F f);

/// y = f(a, b); every dtype but bool, all alike. `y` may be `a` itself.
template <class F>
void zip(const Exec&, const View& a, const View& b, const View& y, F f);
/// y = f(a, b) as bool; every dtype, a and b alike.
template <class F>
void compare(const Exec&, const View& a, const View& b, const View& y, F f);
/// y = condition ? a : b
void where(const Exec&, const View& condition, const View& a, const View& b, const View& y);

/// y = x, converted to the dtype of y.
void copy(const Exec&, const View& x, const View& y);
void fill(const Exec&, const View& y, double value);
/// y = x, with zeros above (upper: below) the given diagonal of the last two dimensions.
void triangle(const Exec&, const View& x, const View& y, bool upper, std::int64_t diagonal);
/// Row-major position of the first infinity or NaN, or -1.
std::int64_t first_nonfinite(const Exec&, const View& x);

}  // namespace reel::kernels
