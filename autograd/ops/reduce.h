#pragma once
// Sums over any dimensions and what is made of sums.
#include "reel/autograd/op.h"

namespace reel {

/// Which dimensions of the input are reduced (none named: all), and whether they stay with size 1.
struct Reduction {
  Dims dims;
  bool keepdim = false;

  /// Bit d is set for each dimension that is reduced. Throws IndexError that names `op`.
  unsigned mask(const Shape& x, std::string_view op) const;
  Shape result(const Shape& x, unsigned mask) const;
};

/// `g`, which has the shape of a reduction's result, with the reduced dimensions at size 1 again.
Tensor keep_dims(const Tensor& g, const Shape& x, unsigned mask);

class Sum final : public OpOf<Sum> {
 public:
  static constexpr OpInfo kInfo{"sum", "sum x", Cast::fused_f32};
  explicit Sum(const Dims& dims = {}, bool keepdim = false) : over{dims, keepdim} {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  Reduction over;
};

class Mean final : public OpOf<Mean> {
 public:
  static constexpr OpInfo kInfo{"mean", "sum x / n", Cast::fused_f32};
  explicit Mean(const Dims& dims = {}, bool keepdim = false) : over{dims, keepdim} {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  Reduction over;
};

/// Outputs: the variance, and the mean that backward reads (f32; f64 for f64).
class Var final : public OpOf<Var> {
 public:
  static constexpr OpInfo kInfo{"var", "sum (x - mean)^2 / (n - correction)", Cast::fused_f32};
  explicit Var(const Dims& dims = {}, bool keepdim = false, double c = 1) : over{dims, keepdim}, correction(c) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {1, 2}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  Reduction over;
  double correction;
};

/// Inputs x, mean, dy.
class VarGrad final : public OpOf<VarGrad> {
 public:
  static constexpr OpInfo kInfo{"var_grad", "dy * 2 (x - mean) / (n - correction)", Cast::fused_f32};
  explicit VarGrad(const Dims& dims = {}, bool keepdim = false, double c = 1) : over{dims, keepdim}, correction(c) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {7, 0}; }
  Reduction over;
  double correction;
};

/// Euclidean. Its gradient at 0 is 0.
class Norm final : public OpOf<Norm> {
 public:
  static constexpr OpInfo kInfo{"norm", "sqrt(sum x^2)", Cast::fused_f32};
  explicit Norm(const Dims& dims = {}, bool keepdim = false) : over{dims, keepdim} {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {1, 1}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  Reduction over;
};

}  // namespace reel
