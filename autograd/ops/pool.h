#pragma once
// Pooling over the last two dimensions of x [n, c, h, w]. Outputs keep the layout of the input.
#include "reel/autograd/op.h"
#include "reel/autograd/ops.h"

namespace reel {

/// Outputs y [n, c, oh, ow], oh = (h + 2 padding - kernel) / stride + 1, and the place of the
/// largest element in its window, row * kernel_w + column, as u8 (i32 for windows of more than 256
/// elements).
class MaxPool2d final : public OpOf<MaxPool2d> {
 public:
  static constexpr OpInfo kInfo{"max_pool2d", "max over each window", Cast::keep};
  explicit MaxPool2d(const Pool2dOptions& o) : options(o) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 2}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  Pool2dOptions options;
};

/// Inputs dy and the places of the largest elements; output dx [n, c, height, width].
class MaxPool2dGrad final : public OpOf<MaxPool2dGrad> {
 public:
  static constexpr OpInfo kInfo{"max_pool2d_grad", "dy at the largest element of each window", Cast::keep};
  MaxPool2dGrad(const Pool2dOptions& o, std::int64_t h, std::int64_t w) : options(o), height(h), width(w) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  Saves saves() const override { return {0, 0}; }
  Pool2dOptions options;
  std::int64_t height, width;
};

/// Output [n, c, oh, ow], sizes as MaxPool2d. Padding counts as zeros, or not at all.
class AvgPool2d final : public OpOf<AvgPool2d> {
 public:
  static constexpr OpInfo kInfo{"avg_pool2d", "mean over each window", Cast::keep};
  explicit AvgPool2d(const Pool2dOptions& o) : options(o) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  Pool2dOptions options;
};

/// Input dy; output dx [n, c, height, width].
class AvgPool2dGrad final : public OpOf<AvgPool2dGrad> {
 public:
  static constexpr OpInfo kInfo{"avg_pool2d_grad", "dy / size, summed over the windows of each element", Cast::keep};
  AvgPool2dGrad(const Pool2dOptions& o, std::int64_t h, std::int64_t w) : options(o), height(h), width(w) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  Pool2dOptions options;
  std::int64_t height, width;
};

/// Output [n, c, height, width]: output i is the mean of elements floor(i h / height) to
/// ceil((i + 1) h / height), so that windows cover the input evenly and may overlap by one.
class AdaptiveAvgPool2d final : public OpOf<AdaptiveAvgPool2d> {
 public:
  static constexpr OpInfo kInfo{"adaptive_avg_pool2d", "mean over height x width even windows", Cast::keep};
  AdaptiveAvgPool2d(std::int64_t h, std::int64_t w) : height(h), width(w) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  std::int64_t height, width;
};

/// Input dy [n, c, height of y, width of y]; output dx [n, c, height, width].
class AdaptiveAvgPool2dGrad final : public OpOf<AdaptiveAvgPool2dGrad> {
 public:
  static constexpr OpInfo kInfo{"adaptive_avg_pool2d_grad", "dy / size, summed over the windows of each element",
                                Cast::keep};
  AdaptiveAvgPool2dGrad(std::int64_t h, std::int64_t w) : height(h), width(w) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  std::int64_t height, width;
};

}  // namespace reel
