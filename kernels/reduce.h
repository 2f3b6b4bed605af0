#pragma once
// Kernels that combine the elements along dimensions: sums and their kin, extremes, scans,
// selection. `dims` has bit d set for each dimension d of x that is reduced. Outputs of reductions
// are dense and row-major; they hold x's other dimensions in order (sizes of 1 in between do not
// matter). Half types are combined in float. The order of combination depends on shapes and strides
// alone.
#include "reel/kernels/view.h"

namespace reel::kernels {

/// y = sum of x; integers and bool give i64. Pairwise: the rounding error grows with the logarithm
/// of the count.
void sum(const Exec&, const View& x, unsigned dims, const View& y);
/// y = sum / count; floating dtypes. NaN for an empty sum.
void mean(const Exec&, const View& x, unsigned dims, const View& y);
/// Two passes: mean (f32; f64 for f64), then var = sum (x - mean)^2 / (count - correction), NaN
/// where that divisor is not positive.
void var(const Exec&, const View& x, unsigned dims, double correction, const View& var, const View& mean);
/// dx = dy * scale * (x - mean); mean and dy as in `var`.
void var_grad(
    const Exec&, const View& x, const View& mean, const View& dy, unsigned dims, double scale, const View& dx);
/// y = sqrt(sum x^2), finite whenever the result is.
void norm(const Exec&, const View& x, unsigned dims, const View& y);
/// y = the largest (smallest) element of a non-empty x; every dtype. NaN wins.
void extreme_all(const Exec&, const View& x, bool largest, const View& y);

/// Along one dimension, which is not empty: value and position (i64) of the largest (smallest)
/// element; the lowest position of a tie; NaN wins. `values` may have no data: then only positions
/// are written.
void extreme(const Exec&, const View& x, int dim, bool largest, const View& values, const View& indices);
/// The k largest (smallest) along `dim`, in order; ties by lowest position; NaN counts as the
/// largest number. values and indices have x's rank, with k elements along `dim`.
void topk(const Exec&, const View& x, int dim, bool largest, const View& values, const View& indices);

/// y = product along `dim`; integers and bool give i64.
void prod(const Exec&, const View& x, int dim, const View& y);
/// dx_i = dy * product of the other elements, without a division: right for any number of zeros.
void prod_grad(const Exec&, const View& x, const View& dy, int dim, const View& dx);
/// y_i = x_0 + ... + x_i along `dim`, or x_i + ... + x_last in reverse; integers and bool give i64.
void cumsum(const Exec&, const View& x, int dim, bool reverse, const View& y);

}  // namespace reel::kernels
