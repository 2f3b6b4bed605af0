#pragma once
// Normalised exponentials along one dimension.
#include "reel/autograd/op.h"

namespace reel {

/// A row that is all -inf gives 0, with gradient 0.
class Softmax final : public OpOf<Softmax> {
 public:
  static constexpr OpInfo kInfo{"softmax", "e^x / sum e^x", Cast::fused_f32};
  explicit Softmax(int d) : dim(d) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 1}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  int dim;
};

/// Inputs y = softmax(x) and dy.
class SoftmaxGrad final : public OpOf<SoftmaxGrad> {
 public:
  static constexpr OpInfo kInfo{"softmax_grad", "y (dy - sum y dy)", Cast::fused_f32};
  explicit SoftmaxGrad(int d) : dim(d) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {3, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  int dim;
};

/// A row that is all -inf gives -inf, with gradient 0.
class LogSoftmax final : public OpOf<LogSoftmax> {
 public:
  static constexpr OpInfo kInfo{"log_softmax", "x - ln sum e^x", Cast::fused_f32};
  explicit LogSoftmax(int d) : dim(d) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 1}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  int dim;
};

/// Inputs y = log_softmax(x) and dy.
class LogSoftmaxGrad final : public OpOf<LogSoftmaxGrad> {
 public:
  static constexpr OpInfo kInfo{"log_softmax_grad", "dy - e^y sum dy", Cast::fused_f32};
  explicit LogSoftmaxGrad(int d) : dim(d) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {3, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  int dim;
};

}  // namespace reel
