#include "reel/nn/conv.h"

#include <cmath>

#include "reel/nn/init.h"
#include "reel/nn/options_impl.h"

namespace reel::nn {
namespace {

void require_size(const char* layer, const char* option, Size2d s, std::int64_t least) {
  check<ValueError>(s.h >= least && s.w >= least, layer, ": ", option, " must be at least ", least, ", but is ", s.h,
                    " x ", s.w);
}

reel::Conv2dOptions checked(const char* layer, const ConvOptions& o) {
  require_at_least(layer, "in", o.in, std::int64_t{1});
  require_at_least(layer, "out", o.out, std::int64_t{1});
  require_at_least(layer, "groups", o.groups, std::int64_t{1});
  require_size(layer, "kernel", o.kernel, 1);
  require_size(layer, "stride", o.stride, 1);
  require_size(layer, "padding", o.padding, 0);
  require_size(layer, "dilation", o.dilation, 1);
  check<ValueError>(o.in % o.groups == 0 && o.out % o.groups == 0, layer, ": groups ", o.groups,
                    " must divide both in ", o.in, " and out ", o.out);
  return {o.stride.h, o.stride.w, o.padding.h, o.padding.w, o.dilation.h, o.dilation.w, o.groups};
}

Pool2dOptions checked(const char* layer, const PoolOptions& o) {
  const Size2d stride = o.stride.value_or(o.kernel);
  require_size(layer, "kernel", o.kernel, 1);
  require_size(layer, "stride", stride, 1);
  require_size(layer, "padding", o.padding, 0);
  return {o.kernel.h, o.kernel.w, stride.h, stride.w, o.padding.h, o.padding.w, o.count_include_pad};
}

/// U(-b, b), b = 1 / sqrt(fan_in of the weight)
void init_bias(const Tensor& bias, const Tensor& weight, const Random& random) {
  const double b = 1 / std::sqrt(static_cast<double>(init::fans_of(weight).in));
  init::uniform(bias, random, -b, b);
}

}  // namespace

Conv2d::Conv2d(const ConvOptions& o, const Random& random) : Module("Conv2d", random), options_(checked("Conv2d", o)) {
  weight_ = parameter("weight", Tensor::empty({o.out, o.in / o.groups, o.kernel.h, o.kernel.w}));
  init::kaiming_uniform(weight_, random);
  if (!o.bias) return;
  bias_ = parameter("bias", Tensor::empty({o.out}));
  init_bias(bias_, weight_, random);
}

ConvTranspose2d::ConvTranspose2d(const ConvOptions& o, const Random& random, Size2d output_padding)
    : Module("ConvTranspose2d", random), options_(checked("ConvTranspose2d", o)), output_padding_(output_padding) {
  require_size("ConvTranspose2d", "output_padding", output_padding, 0);
  weight_ = parameter("weight", Tensor::empty({o.in, o.out / o.groups, o.kernel.h, o.kernel.w}));
  init::kaiming_uniform(weight_, random);
  if (!o.bias) return;
  bias_ = parameter("bias", Tensor::empty({o.out}));
  init_bias(bias_, weight_, random);
}

MaxPool2d::MaxPool2d(const PoolOptions& o) : Module("MaxPool2d"), options_(checked("MaxPool2d", o)) {}
AvgPool2d::AvgPool2d(const PoolOptions& o) : Module("AvgPool2d"), options_(checked("AvgPool2d", o)) {}
AdaptiveAvgPool2d::AdaptiveAvgPool2d(Size2d size) : Module("AdaptiveAvgPool2d"), size_(size) {
  require_size("AdaptiveAvgPool2d", "size", size, 1);
}

}  // namespace reel::nn
