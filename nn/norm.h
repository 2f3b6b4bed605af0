#pragma once
// Normalisations. Weights start as 1, biases as 0.
#include "reel/autograd/ops.h"
#include "reel/nn/module.h"

namespace reel::nn {

struct BatchNormOptions {
  std::int64_t channels = 0;
  double eps = 1e-5;
  double momentum = 0.1;  ///< the part of the new batch in the running statistics
  bool affine = true;
};
/// Over n, h and w of [n, c, h, w] (Ioffe and Szegedy 2015). In training by the statistics of the
/// batch (its biased variance), and running = (1 - momentum) running + momentum batch, in place and
/// unrecorded, with the unbiased variance; in evaluation by the running ones. Throws ShapeError in
/// training for one value per channel, which has no variance.
class BatchNorm2d final : public Module {
 public:
  explicit BatchNorm2d(const BatchNormOptions& options);
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }
  const Tensor& running_mean() const { return running_mean_; }
  const Tensor& running_var() const { return running_var_; }
  const Tensor& num_batches_tracked() const { return num_batches_tracked_; }  ///< i64

 protected:
  Tensor forward(const Tensor& x) const override;

 private:
  BatchNormOptions options_;
  Tensor weight_, bias_, running_mean_, running_var_, num_batches_tracked_;
};

/// Over the last dimensions, whose sizes are `shape` (Ba et al. 2016).
class LayerNorm final : public Module {
 public:
  explicit LayerNorm(const Shape& shape, double eps = 1e-5, bool affine = true);
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }

 protected:
  Tensor forward(const Tensor& x) const override;

 private:
  Shape shape_;
  double eps_;
  Tensor weight_, bias_;
};

/// x / sqrt(mean(x^2) + eps) * weight over the last dimensions (Zhang and Sennrich 2019).
class RMSNorm final : public Module {
 public:
  explicit RMSNorm(const Shape& shape, double eps = 1e-6, bool affine = true);
  const Tensor& weight() const { return weight_; }

 protected:
  Tensor forward(const Tensor& x) const override;

 private:
  Shape shape_;
  double eps_;
  Tensor weight_;
};

struct GroupNormOptions {
  std::int64_t groups = 1, channels = 0;
  double eps = 1e-5;
  bool affine = true;
};
/// Over the channels of a group and all places, for each sample (Wu and He 2018).
class GroupNorm final : public Module {
 public:
  explicit GroupNorm(const GroupNormOptions& options);
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }

 protected:
  Tensor forward(const Tensor& x) const override {
    return group_norm(x, options_.groups, weight_, bias_, options_.eps);
  }

 private:
  GroupNormOptions options_;
  Tensor weight_, bias_;
};

}  // namespace reel::nn
