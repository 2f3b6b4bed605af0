#pragma once
// Convolution and its two adjoints. The gradients of each are made of the other two, so the three
// can be differentiated as often as one likes.
#include "reel/autograd/op.h"
#include "reel/autograd/ops.h"

namespace reel {

/// y = conv(x, weight) + bias; inputs x [n, ci, h, w], weight [co, ci / groups, kh, kw], bias [co]
/// or none; output [n, co, oh, ow], channels-last. The formula of the sizes is at `conv2d` in
/// ops.h.
class Conv2d final : public OpOf<Conv2d> {
 public:
  static constexpr OpInfo kInfo{"conv2d", "conv(x, weight) + bias", Cast::lower};
  explicit Conv2d(const Conv2dOptions& o = {}) : options(o) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {3, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  Conv2dOptions options;
};

/// The x whose product with any z is <x, z> = <y, conv(z, weight)>; inputs y [n, ci, h, w], weight
/// [ci, co / groups, kh, kw]; output [n, co, height, width], channels-last. Several sizes of the
/// output have convolutions of size h x w, so it is an attribute.
class ConvTranspose2d final : public OpOf<ConvTranspose2d> {
 public:
  static constexpr OpInfo kInfo{"conv_transpose2d", "sum over windows of x * weight", Cast::lower};
  ConvTranspose2d(const Conv2dOptions& o, std::int64_t out_height, std::int64_t out_width)
      : options(o), height(out_height), width(out_width) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {3, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  Conv2dOptions options;
  std::int64_t height, width;
};

/// d<dy, conv(x, weight)>/dweight; inputs x [n, ci, h, w], dy [n, co, oh, ow]; output
/// [co, ci / groups, kernel_h, kernel_w], row-major.
class Conv2dWeightGrad final : public OpOf<Conv2dWeightGrad> {
 public:
  static constexpr OpInfo kInfo{"conv2d_weight_grad", "sum over pixels of dy * x", Cast::lower};
  Conv2dWeightGrad(const Conv2dOptions& o, std::int64_t kh, std::int64_t kw) : options(o), kernel_h(kh), kernel_w(kw) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {3, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  Conv2dOptions options;
  std::int64_t kernel_h, kernel_w;
};

}  // namespace reel
