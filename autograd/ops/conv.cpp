#include "reel/autograd/ops/conv.h"

#include "reel/autograd/ops/common.h"
#include "reel/kernels/conv.h"

namespace reel {
namespace {

kernels::ConvSteps steps(const Conv2dOptions& o) {
  return {o.stride_h, o.stride_w, o.padding_h, o.padding_w, o.dilation_h, o.dilation_w, o.groups};
}

void check_options(std::string_view op, const Conv2dOptions& o) {
  check<ValueError>(o.stride_h >= 1 && o.stride_w >= 1, op, ": stride must be positive, but is ",
                    Dims{o.stride_h, o.stride_w});
  check<ValueError>(o.padding_h >= 0 && o.padding_w >= 0, op, ": padding must not be negative, but is ",
                    Dims{o.padding_h, o.padding_w});
  check<ValueError>(o.dilation_h >= 1 && o.dilation_w >= 1, op, ": dilation must be positive, but is ",
                    Dims{o.dilation_h, o.dilation_w});
  check<ValueError>(o.groups >= 1, op, ": groups must be positive, but is ", o.groups);
}

/// Size of conv(x) along one axis.
std::int64_t conv_size(
    std::int64_t x, std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t dilation) {
  return (x + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

/// [oh, ow] of conv(x, weight). Throws ShapeError where the window does not fit once.
Dims conv_sizes(std::string_view op, const Shape& x, std::int64_t kh, std::int64_t kw, const Conv2dOptions& o) {
  check<ValueError>(kh >= 1 && kw >= 1, op, ": kernel must be positive, but is ", Dims{kh, kw});
  const Dims padded{x[2] + 2 * o.padding_h, x[3] + 2 * o.padding_w};
  const Dims span{o.dilation_h * (kh - 1) + 1, o.dilation_w * (kw - 1) + 1};
  check<ShapeError>(span[0] <= padded[0] && span[1] <= padded[1], op,
                    ": kernel is larger than the padded input: kernel ", span, " with its dilation, input ", padded,
                    " with its padding. Use a smaller kernel or more padding");
  return {conv_size(x[2], kh, o.stride_h, o.padding_h, o.dilation_h),
          conv_size(x[3], kw, o.stride_w, o.padding_w, o.dilation_w)};
}

void check_pair(std::string_view op, const char* a, const Meta& ma, const char* b, const Meta& mb) {
  require_rank(op, a, ma, 4);
  require_rank(op, b, mb, 4);
  require_floating(op, ma, a);
  require_same_dtype(op, a, ma, b, mb);
}

void check_groups(std::string_view op, const char* what, std::int64_t channels, std::int64_t groups) {
  check<ShapeError>(channels % groups == 0, op, ": groups do not divide the ", what, " channels: channels ", channels,
                    ", groups ", groups);
}

/// Two flops for each weight that meets a pixel of y.
Cost conv_cost(Cost c, const Shape& y, const Shape& weight) {
  c.flops = 2.0 * static_cast<double>(y[0] * y[2] * y[3]) * static_cast<double>(numel(weight));
  return c;
}

}  // namespace

void Conv2d::infer(Metas in, OutMetas& out) const {
  const Meta &x = *in[0], &w = *in[1];
  check_options("conv2d", options);
  check_pair("conv2d", "x", x, "weight", w);
  check<ShapeError>(x.shape[1] == w.shape[1] * options.groups, "conv2d: channels differ: x ", x.shape, " has ",
                    x.shape[1], ", weight ", w.shape, " takes ", w.shape[1] * options.groups, " with groups ",
                    options.groups);
  check_groups("conv2d", "output", w.shape[0], options.groups);
  if (in.size() > 2 && in[2]) {
    require_same_dtype("conv2d", "weight", w, "bias", *in[2]);
    check<ShapeError>(in[2]->shape == Shape{w.shape[0]}, "conv2d: bias needs one value for each output channel: bias ",
                      in[2]->shape, ", weight ", w.shape);
  }
  const Dims size = conv_sizes("conv2d", x.shape, w.shape[2], w.shape[3], options);
  out.add({x.shape[0], w.shape[0], size[0], size[1]}, x.dtype, Layout::channels_last);
}
void Conv2d::forward(Inputs in, Outputs& out) const {
  const bool biased = in.size() > 2 && in[2];
  const kernels::View bias = biased ? kernels::View(in[2]) : kernels::View();
  kernels::conv2d(exec_of(out[0]), in[0], in[1], biased ? &bias : nullptr, out[0], steps(options));
}
void Conv2d::backward(Backward& b) const {
  const Shape &x = b.in_meta(0).shape, &w = b.in_meta(1).shape;
  const Tensor& dy = b.dout();
  if (b.needs(0)) b.set(0, apply(ConvTranspose2d(options, x[2], x[3]), {dy, b.in(1)}));
  if (b.needs(1)) b.set(1, apply(Conv2dWeightGrad(options, w[2], w[3]), {b.in(0), dy}));
  if (b.needs(2)) b.set(2, sum(dy, {0, 2, 3}));
}
Cost Conv2d::cost(Metas in, std::span<const Meta> out) const {
  return conv_cost(Op::cost(in, out), out[0].shape, in[1]->shape);
}

void ConvTranspose2d::infer(Metas in, OutMetas& out) const {
  const Meta &x = *in[0], &w = *in[1];
  check_options("conv_transpose2d", options);
  check_pair("conv_transpose2d", "x", x, "weight", w);
  check<ShapeError>(x.shape[1] == w.shape[0], "conv_transpose2d: channels differ: x ", x.shape, " has ", x.shape[1],
                    ", weight ", w.shape, " takes ", w.shape[0]);
  check_groups("conv_transpose2d", "input", w.shape[0], options.groups);
  const Shape y{x.shape[0], w.shape[1] * options.groups, height, width};
  check<ShapeError>(height >= 1 && width >= 1, "conv_transpose2d: the output would be empty: output ", y, ", x ",
                    x.shape, ", weight ", w.shape, ". Use less padding");
  const Dims back = conv_sizes("conv_transpose2d", y, w.shape[2], w.shape[3], options);
  check<ShapeError>(back[0] == x.shape[2] && back[1] == x.shape[3],
                    "conv_transpose2d: x does not fit the output size: x ", x.shape, ", output ", y,
                    ", whose convolution has size ", back);
  out.add(y, x.dtype, Layout::channels_last);
}
void ConvTranspose2d::forward(Inputs in, Outputs& out) const {
  kernels::conv2d_data_grad(exec_of(out[0]), in[0], in[1], out[0], steps(options));
}
void ConvTranspose2d::backward(Backward& b) const {
  const Shape& w = b.in_meta(1).shape;
  const Tensor& dy = b.dout();
  if (b.needs(0)) b.set(0, apply(Conv2d(options), {dy, b.in(1)}));
  if (b.needs(1)) b.set(1, apply(Conv2dWeightGrad(options, w[2], w[3]), {dy, b.in(0)}));
}
Cost ConvTranspose2d::cost(Metas in, std::span<const Meta> out) const {
  return conv_cost(Op::cost(in, out), in[0]->shape, in[1]->shape);
}

void Conv2dWeightGrad::infer(Metas in, OutMetas& out) const {
  const Meta &x = *in[0], &dy = *in[1];
  check_options("conv2d_weight_grad", options);
  check_pair("conv2d_weight_grad", "x", x, "dy", dy);
  check_groups("conv2d_weight_grad", "input", x.shape[1], options.groups);
  check_groups("conv2d_weight_grad", "output", dy.shape[1], options.groups);
  const Dims size = conv_sizes("conv2d_weight_grad", x.shape, kernel_h, kernel_w, options);
  check<ShapeError>(dy.shape == Shape({x.shape[0], dy.shape[1], size[0], size[1]}),
                    "conv2d_weight_grad: dy does not fit x: dy ", dy.shape, ", x ", x.shape,
                    ", whose convolution has size ", size);
  out.add({dy.shape[1], x.shape[1] / options.groups, kernel_h, kernel_w}, x.dtype);
}
void Conv2dWeightGrad::forward(Inputs in, Outputs& out) const {
  kernels::conv2d_weight_grad(exec_of(out[0]), in[0], in[1], out[0], steps(options));
}
void Conv2dWeightGrad::backward(Backward& b) const {
  const Shape& x = b.in_meta(0).shape;
  const Tensor& ddw = b.dout();  // has the shape of the weight
  if (b.needs(0)) b.set(0, apply(ConvTranspose2d(options, x[2], x[3]), {b.in(1), ddw}));
  if (b.needs(1)) b.set(1, apply(Conv2d(options), {b.in(0), ddw}));
}
Cost Conv2dWeightGrad::cost(Metas in, std::span<const Meta> out) const {
  return conv_cost(Op::cost(in, out), in[1]->shape, out[0].shape);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  return bias ? apply(Conv2d(options), {x, weight, bias}) : apply(Conv2d(options), {x, weight});
}

Tensor conv_transpose2d(const Tensor& x,
                        const Tensor& weight,
                        const Tensor& bias,
                        const Conv2dOptions& options,
                        std::int64_t output_padding_h,
                        std::int64_t output_padding_w) {
  const Conv2dOptions& o = options;
  constexpr const char* name = "conv_transpose2d";
  check_options(name, o);
  require_rank(name, "x", x.meta(), 4);
  require_rank(name, "weight", weight.meta(), 4);
  check<ValueError>(
      output_padding_h >= 0 && output_padding_h < o.stride_h && output_padding_w >= 0 && output_padding_w < o.stride_w,
      name, ": output padding must be at least 0 and below the stride: output padding ",
      Dims{output_padding_h, output_padding_w}, ", stride ", Dims{o.stride_h, o.stride_w});
  const auto size = [](std::int64_t n, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                       std::int64_t dilation) { return (n - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1; };
  const Shape &s = x.shape(), &w = weight.shape();
  const std::int64_t oh = size(s[2], w[2], o.stride_h, o.padding_h, o.dilation_h) + output_padding_h;
  const std::int64_t ow = size(s[3], w[3], o.stride_w, o.padding_w, o.dilation_w) + output_padding_w;
  const Tensor y = apply(ConvTranspose2d(options, oh, ow), {x, weight});
  if (!bias) return y;
  const std::int64_t channels = y.shape()[1];
  check<ShapeError>(bias.shape() == Shape{channels}, name, ": bias needs one value for each output channel: bias ",
                    bias.shape(), ", output ", y.shape());
  return add(y, reshape(bias, {1, channels, 1, 1}));
}

}  // namespace reel
