#pragma once
// Convolutions and pooling over images [n, c, h, w].
#include "reel/autograd/ops.h"
#include "reel/nn/module.h"

namespace reel::nn {

/// Height and width; one number stands for both: `.kernel = 3`, `.kernel = {3, 5}`.
struct Size2d {
  Size2d(std::int64_t both) : h(both), w(both) {}  // NOLINT(google-explicit-constructor)
  Size2d(std::int64_t h, std::int64_t w) : h(h), w(w) {}
  std::int64_t h, w;
};

struct ConvOptions {
  std::int64_t in = 0, out = 0;  ///< channels
  Size2d kernel = 3, stride = 1, padding = 0, dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
};

/// Cross-correlation, see conv2d in autograd/ops.h. weight [out, in / groups, kh, kw] and bias
/// [out] start as U(-b, b), b = 1 / sqrt(in / groups * kh * kw).
class Conv2d final : public Module {
 public:
  Conv2d(const ConvOptions& options, const Random& random);
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  ///< empty without

 protected:
  Tensor forward(const Tensor& x) const override { return conv2d(x, weight_, bias_, options_); }

 private:
  Conv2dOptions options_;
  Tensor weight_, bias_;
};

/// The adjoint of a Conv2d. weight [in, out / groups, kh, kw] (mind the order) and bias [out] start
/// as in PyTorch: U(-b, b) with b = 1 / sqrt(out / groups * kh * kw).
class ConvTranspose2d final : public Module {
 public:
  ConvTranspose2d(const ConvOptions& options, const Random& random, Size2d output_padding = 0);
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  ///< empty without

 protected:
  Tensor forward(const Tensor& x) const override {
    return conv_transpose2d(x, weight_, bias_, options_, output_padding_.h, output_padding_.w);
  }

 private:
  Conv2dOptions options_;
  Size2d output_padding_;
  Tensor weight_, bias_;
};

struct PoolOptions {
  Size2d kernel = 2;
  std::optional<Size2d> stride = {};  ///< the kernel, when left out
  Size2d padding = 0;
  bool count_include_pad = true;  ///< average pooling: padding counts as zeros
};

class MaxPool2d final : public Module {
 public:
  explicit MaxPool2d(const PoolOptions& options = {});

 protected:
  Tensor forward(const Tensor& x) const override { return max_pool2d(x, options_); }

 private:
  Pool2dOptions options_;
};

class AvgPool2d final : public Module {
 public:
  explicit AvgPool2d(const PoolOptions& options = {});

 protected:
  Tensor forward(const Tensor& x) const override { return avg_pool2d(x, options_); }

 private:
  Pool2dOptions options_;
};

/// Means over a grid of `size` cells, whatever the size of the image.
class AdaptiveAvgPool2d final : public Module {
 public:
  explicit AdaptiveAvgPool2d(Size2d size = 1);

 protected:
  Tensor forward(const Tensor& x) const override { return adaptive_avg_pool2d(x, size_.h, size_.w); }

 private:
  Size2d size_;
};

}  // namespace reel::nn
