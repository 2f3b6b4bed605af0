#pragma once
// Normalisations. Statistics are extra outputs, which backward reads. In the gradient ops, bit i of
// `wanted` asks for the gradient of x, weight, bias; an output not asked for has the shape [0].
#include "reel/autograd/op.h"

namespace reel {

/// y = (x - mean) rstd weight + bias over the last `dims` dimensions (Ba et al. 2016).
/// Inputs x, weight, bias (each may be left out); outputs y, mean, rstd of each row.
class LayerNorm final : public OpOf<LayerNorm> {
 public:
  static constexpr OpInfo kInfo{"layer_norm", "(x - mean) / sqrt(var + eps) * weight + bias, each row",
                                Cast::fused_f32};
  explicit LayerNorm(double epsilon = 1e-5, int dimensions = 1) : eps(epsilon), dims(dimensions) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {3, 6}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  double eps;
  int dims;
};
/// Inputs x, weight, mean, rstd, dy; outputs dx, dweight, dbias, the last two of dtype `param`.
class LayerNormGrad final : public OpOf<LayerNormGrad> {
 public:
  static constexpr OpInfo kInfo{"layer_norm_grad", "d layer_norm / d (x, weight, bias) * dy", Cast::fused_f32};
  LayerNormGrad(int dimensions, unsigned which, DType dtype) : dims(dimensions), wanted(which), param(dtype) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  Cost cost(Metas in, std::span<const Meta> out) const override;
  int dims;
  unsigned wanted;
  DType param;
};

/// y = x rstd weight, rstd = 1 / sqrt(mean(x^2) + eps) over the last `dims` dimensions (Zhang and
/// Sennrich 2019). Inputs x, weight (may be left out); outputs y, rstd.
class RmsNorm final : public OpOf<RmsNorm> {
 public:
  static constexpr OpInfo kInfo{"rms_norm", "x / sqrt(mean(x^2) + eps) * weight, each row", Cast::fused_f32};
  explicit RmsNorm(double epsilon = 1e-6, int dimensions = 1) : eps(epsilon), dims(dimensions) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {3, 2}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  double eps;
  int dims;
};
/// Inputs x, weight, rstd, dy; outputs dx, dweight.
class RmsNormGrad final : public OpOf<RmsNormGrad> {
 public:
  static constexpr OpInfo kInfo{"rms_norm_grad", "d rms_norm / d (x, weight) * dy", Cast::fused_f32};
  RmsNormGrad(int dimensions, unsigned which) : dims(dimensions), wanted(which) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  Cost cost(Metas in, std::span<const Meta> out) const override;
  int dims;
  unsigned wanted;
};

/// x [n, c, ...] normalised over each group of c / groups channels of a sample (Wu and He 2018).
/// Inputs x, weight [c], bias [c] (each may be left out); outputs y, mean and rstd [n, groups].
class GroupNorm final : public OpOf<GroupNorm> {
 public:
  static constexpr OpInfo kInfo{"group_norm", "(x - mean) / sqrt(var + eps) * weight + bias, each group of channels",
                                Cast::fused_f32};
  explicit GroupNorm(std::int64_t groups_of_channels, double epsilon = 1e-5)
      : groups(groups_of_channels), eps(epsilon) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {3, 6}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  std::int64_t groups;
  double eps;
};
/// Inputs x, weight, mean, rstd, dy; outputs dx, dweight, dbias, the last two of dtype `param`.
class GroupNormGrad final : public OpOf<GroupNormGrad> {
 public:
  static constexpr OpInfo kInfo{"group_norm_grad", "d group_norm / d (x, weight, bias) * dy", Cast::fused_f32};
  GroupNormGrad(unsigned which, DType dtype) : wanted(which), param(dtype) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  Cost cost(Metas in, std::span<const Meta> out) const override;
  unsigned wanted;
  DType param;
};

/// x [n, c, ...] normalised over each channel (Ioffe and Szegedy 2015). Inputs x, weight, bias,
/// mean, var, all [c] but x; the last four may be left out. Without mean and var those of the batch
/// are used and are the outputs 1 and 2 (var is biased; both are 0 for an empty batch). Those are
/// made for running averages, and a gradient that reaches them is a GradError; given ones are
/// inputs like others.
class BatchNorm final : public OpOf<BatchNorm> {
 public:
  static constexpr OpInfo kInfo{"batch_norm", "(x - mean) / sqrt(var + eps) * weight + bias, each channel",
                                Cast::fused_f32};
  explicit BatchNorm(double epsilon = 1e-5) : eps(epsilon) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {1 | 2 | 8 | 16, 6}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  double eps;
};
/// Inputs x, weight, mean, var, dy; outputs dx, dweight, dbias. `of_batch`: mean and var depend on
/// x.
class BatchNormGrad final : public OpOf<BatchNormGrad> {
 public:
  static constexpr OpInfo kInfo{"batch_norm_grad", "d batch_norm / d (x, weight, bias) * dy", Cast::fused_f32};
  BatchNormGrad(double epsilon, bool batch, unsigned which, DType dtype)
      : eps(epsilon), of_batch(batch), wanted(which), param(dtype) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  Cost cost(Metas in, std::span<const Meta> out) const override;
  double eps;
  bool of_batch;
  unsigned wanted;
  DType param;
};

}  // namespace reel
