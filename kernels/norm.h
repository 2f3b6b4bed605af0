#pragma once
// Normalisations and their gradients. Half types are read and written as half; statistics and sums
// are f32 (f64 for f64), in an order that depends on the shape only. Weights and biases may have
// any floating dtype. A view without data is an operand left out, or a result not asked for.
#include "reel/kernels/view.h"

namespace reel::kernels {

/// x [rows, d], weight and bias [d]: mean and rstd = 1 / sqrt(var + eps) of each row,
/// y = (x - mean) rstd weight + bias. The number of rows is that of `rstd`.
void layer_norm(const Exec&,
                const View& x,
                const View& weight,
                const View& bias,
                const View& y,
                const View& mean,
                const View& rstd,
                double eps);
void layer_norm_grad(const Exec&,
                     const View& x,
                     const View& weight,
                     const View& mean,
                     const View& rstd,
                     const View& dy,
                     const View& dx,
                     const View& dweight,
                     const View& dbias);

/// x [rows, d], weight [d]: rstd = 1 / sqrt(mean(x^2) + eps), y = x rstd weight.
void rms_norm(const Exec&, const View& x, const View& weight, const View& y, const View& rstd, double eps);
void rms_norm_grad(const Exec&,
                   const View& x,
                   const View& weight,
                   const View& rstd,
                   const View& dy,
                   const View& dx,
                   const View& dweight);

/// x [n, c, ...], weight and bias [c], mean and rstd [n, groups]; channels-last memory is walked as
/// it lies.
void group_norm(const Exec&,
                const View& x,
                const View& weight,
                const View& bias,
                const View& y,
                const View& mean,
                const View& rstd,
                double eps);
void group_norm_grad(const Exec&,
                     const View& x,
                     const View& weight,
                     const View& mean,
                     const View& rstd,
                     const View& dy,
                     const View& dx,
                     const View& dweight,
                     const View& dbias);

/// Mean and biased variance [c] of x [n, c, ...]; 0 where there is nothing to average.
void batch_norm_statistics(const Exec&, const View& x, const View& mean, const View& var);
/// y = (x - mean) / sqrt(var + eps) weight + bias
void batch_norm(const Exec&,
                const View& x,
                const View& mean,
                const View& var,
                const View& weight,
                const View& bias,
                const View& y,
                double eps);
/// `of_batch`: mean and var depend on x; else they are constants.
void batch_norm_grad(const Exec&,
                     const View& x,
                     const View& mean,
                     const View& var,
                     const View& weight,
                     const View& dy,
                     const View& dx,
                     const View& dweight,
                     const View& dbias,
                     double eps,
                     bool of_batch);

}  // namespace reel::kernels
