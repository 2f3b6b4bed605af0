#pragma once
// Convolution over two dimensions (cross-correlation) and its two adjoints. They are one trilinear
// form <y, conv(x, weight)> read in three ways, so the three functions take the same sizes and
// steps: x [n, ci, h, w], weight [co, ci / groups, kh, kw], y [n, co, oh, ow].
#include "reel/kernels/view.h"

namespace reel::kernels {

/// How the window moves over x.
struct ConvSteps {
  std::int64_t stride_h = 1, stride_w = 1, padding_h = 0, padding_w = 0, dilation_h = 1, dilation_w = 1, groups = 1;
};

/// y = conv(x, weight) + bias; floating dtypes, all alike, any strides. `bias` [co] may be null.
/// Fastest where x and y lie channels-last. Half types are computed in f32 and rounded once.
void conv2d(const Exec&, const View& x, const View& weight, const View* bias, const View& y, const ConvSteps& steps);
/// dx from dy and weight: also the transposed convolution of dy.
void conv2d_data_grad(const Exec&, const View& dy, const View& weight, const View& dx, const ConvSteps& steps);
/// dw [co, ci / groups, kh, kw] from x and dy; zeros for an empty batch.
void conv2d_weight_grad(const Exec&, const View& x, const View& dy, const View& dw, const ConvSteps& steps);

}  // namespace reel::kernels
