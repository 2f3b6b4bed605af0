#include "reel/nn/norm.h"

#include "reel/kernels/pointwise.h"
#include "reel/nn/options_impl.h"

namespace reel::nn {
namespace {

void require_eps(const char* layer, double eps) {
  check<ValueError>(eps >= 0, layer, ": eps must not be negative, but is ", eps);
}

void require_sizes(const char* layer, const Shape& shape) {
  bool positive = shape.rank() > 0;
  for (const std::int64_t n : shape) positive &= n > 0;
  check<ValueError>(positive, layer, ": shape must have positive sizes, but is ", shape);
}

/// The last sizes of x must be `shape`.
void require_last(const char* layer, const Tensor& x, const Shape& shape) {
  bool fits = x.rank() >= shape.rank();
  for (int i = 1; fits && i <= shape.rank(); ++i) fits = x.shape()[x.rank() - i] == shape[shape.rank() - i];
  check<ShapeError>(fits, layer, ": the last sizes differ: x ", x.shape(), ", layer ", shape);
}

void assign(const Tensor& to, const Tensor& from) {
  kernels::copy({to.device(), Stream{to.device()}}, from, to);
  to.bump_version();
}

}  // namespace

BatchNorm2d::BatchNorm2d(const BatchNormOptions& o) : Module("BatchNorm2d"), options_(o) {
  require_at_least("BatchNorm2d", "channels", o.channels, std::int64_t{1});
  require_eps("BatchNorm2d", o.eps);
  check<ValueError>(o.momentum >= 0 && o.momentum <= 1, "BatchNorm2d: momentum must be from 0 to 1, but is ",
                    o.momentum);
  if (o.affine) {
    weight_ = parameter("weight", Tensor::full({o.channels}, 1));
    bias_ = parameter("bias", Tensor::zeros({o.channels}));
  }
  running_mean_ = buffer("running_mean", Tensor::zeros({o.channels}));
  running_var_ = buffer("running_var", Tensor::full({o.channels}, 1));
  num_batches_tracked_ = buffer("num_batches_tracked", Tensor::zeros({}, DType::i64));
}

Tensor BatchNorm2d::forward(const Tensor& x) const {
  check<ShapeError>(x.rank() == 4 && x.shape()[1] == options_.channels, "BatchNorm2d: needs x [n, ", options_.channels,
                    ", h, w], but its shape is ", x.shape());
  if (!training()) return batch_norm_eval(x, running_mean_, running_var_, weight_, bias_, options_.eps);
  const double n = static_cast<double>(x.numel() / options_.channels);
  check<ShapeError>(n > 1, "BatchNorm2d: training needs more than one value per channel, but x is ", x.shape(),
                    ". Use a larger batch, or eval()");
  const BatchNormResult r = batch_norm_train(x, weight_, bias_, options_.eps);
  const NoGrad off;
  const double fresh = options_.momentum;
  assign(running_mean_, running_mean_ * (1 - fresh) + r.mean * fresh);
  assign(running_var_, running_var_ * (1 - fresh) + r.var * (fresh * n / (n - 1)));
  assign(num_batches_tracked_, num_batches_tracked_ + Tensor::full({}, 1, DType::i64, num_batches_tracked_.device()));
  return r.y;
}

LayerNorm::LayerNorm(const Shape& shape, double eps, bool affine) : Module("LayerNorm"), shape_(shape), eps_(eps) {
  require_sizes("LayerNorm", shape);
  require_eps("LayerNorm", eps);
  if (!affine) return;
  weight_ = parameter("weight", Tensor::full(shape, 1));
  bias_ = parameter("bias", Tensor::zeros(shape));
}
Tensor LayerNorm::forward(const Tensor& x) const {
  require_last("LayerNorm", x, shape_);
  return layer_norm(x, weight_, bias_, eps_, shape_.rank());
}

RMSNorm::RMSNorm(const Shape& shape, double eps, bool affine) : Module("RMSNorm"), shape_(shape), eps_(eps) {
  require_sizes("RMSNorm", shape);
  require_eps("RMSNorm", eps);
  if (affine) weight_ = parameter("weight", Tensor::full(shape, 1));
}
Tensor RMSNorm::forward(const Tensor& x) const {
  require_last("RMSNorm", x, shape_);
  return rms_norm(x, weight_, eps_, shape_.rank());
}

GroupNorm::GroupNorm(const GroupNormOptions& o) : Module("GroupNorm"), options_(o) {
  require_at_least("GroupNorm", "groups", o.groups, std::int64_t{1});
  require_at_least("GroupNorm", "channels", o.channels, std::int64_t{1});
  require_eps("GroupNorm", o.eps);
  check<ValueError>(o.channels % o.groups == 0, "GroupNorm: groups ", o.groups, " must divide channels ", o.channels);
  if (!o.affine) return;
  weight_ = parameter("weight", Tensor::full({o.channels}, 1));
  bias_ = parameter("bias", Tensor::zeros({o.channels}));
}

}  // namespace reel::nn
