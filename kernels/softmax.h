#pragma once
// Kernels that normalise exponentials along one dimension. All subtract the maximum first. Floating
// dtypes; half types are computed in float.
#include "reel/kernels/view.h"

namespace reel::kernels {

/// y = e^x / sum e^x along `dim`; 0 where all are -inf; NaN where one is NaN or +inf.
void softmax(const Exec&, const View& x, int dim, const View& y);
/// dx = y (dy - sum y dy)
void softmax_grad(const Exec&, const View& y, const View& dy, int dim, const View& dx);
/// y = x - ln sum e^x along `dim`; -inf where all are -inf.
void log_softmax(const Exec&, const View& x, int dim, const View& y);
/// dx = dy - e^y sum dy; 0 where all y are -inf.
void log_softmax_grad(const Exec&, const View& y, const View& dy, int dim, const View& dx);
/// y = ln sum e^x; -inf where all are -inf or there are none. y is dense, row-major, without `dim`.
void logsumexp(const Exec&, const View& x, int dim, const View& y);

}  // namespace reel::kernels
