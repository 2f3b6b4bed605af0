#include "reel/autograd/ops/pool.h"

#include <algorithm>

#include "reel/autograd/ops/common.h"
#include "reel/kernels/pool.h"

namespace reel {
namespace {

kernels::PoolWindow window(const Pool2dOptions& o) {
  return {o.kernel_h, o.kernel_w, o.stride_h, o.stride_w, o.padding_h, o.padding_w};
}

/// [n, c, oh, ow] for an input of this shape. Throws ValueError for the options, ShapeError for the
/// sizes.
Shape pooled(std::string_view op, const Shape& x, const Pool2dOptions& o) {
  const Dims kernel{o.kernel_h, o.kernel_w}, stride{o.stride_h, o.stride_w}, padding{o.padding_h, o.padding_w};
  check<ValueError>(kernel[0] >= 1 && kernel[1] >= 1, op, ": kernel must be positive, but is ", kernel);
  check<ValueError>(stride[0] >= 1 && stride[1] >= 1, op, ": stride must be positive, but is ", stride);
  check<ValueError>(padding[0] >= 0 && padding[1] >= 0, op, ": padding must not be negative, but is ", padding);
  check<ValueError>(padding[0] < kernel[0] && padding[1] < kernel[1], op,
                    ": padding must be smaller than the kernel: padding ", padding, ", kernel ", kernel,
                    ". Else a window could lie in the padding alone");
  const Dims padded{x[2] + 2 * padding[0], x[3] + 2 * padding[1]};
  check<ShapeError>(x[2] >= 1 && x[3] >= 1 && kernel[0] <= padded[0] && kernel[1] <= padded[1], op,
                    ": kernel is larger than the padded input: kernel ", kernel, ", input ", padded,
                    " with its padding");
  return {x[0], x[1], (padded[0] - kernel[0]) / stride[0] + 1, (padded[1] - kernel[1]) / stride[1] + 1};
}

void check_gradient_shape(std::string_view op, const Meta& dy, const Shape& expected) {
  check<ShapeError>(dy.shape == expected, op, ": dy does not fit: dy ", dy.shape, ", expected ", expected);
}

/// Where pooling of n elements along one axis looks, for the usual windows.
kernels::PoolSpans spans(std::int64_t n,
                         std::int64_t outputs,
                         std::int64_t kernel,
                         std::int64_t stride,
                         std::int64_t padding,
                         bool count_pad) {
  kernels::PoolSpans s;
  for (std::int64_t i = 0; i < outputs; ++i) {
    const std::int64_t from = i * stride - padding, begin = std::max<std::int64_t>(0, from),
                       end = std::min(n, from + kernel);
    s.push_back({begin, end, count_pad ? kernel : end - begin});
  }
  return s;
}
kernels::PoolSpans even_spans(std::int64_t n, std::int64_t outputs) {
  kernels::PoolSpans s;
  for (std::int64_t i = 0; i < outputs; ++i) {
    const std::int64_t begin = i * n / outputs, end = ((i + 1) * n + outputs - 1) / outputs;
    s.push_back({begin, end, end - begin});
  }
  return s;
}
struct Windows {
  kernels::PoolSpans rows, columns;
};
Windows windows(const Shape& x, const Shape& y, const Pool2dOptions& o) {
  return {spans(x[2], y[2], o.kernel_h, o.stride_h, o.padding_h, o.count_include_pad),
          spans(x[3], y[3], o.kernel_w, o.stride_w, o.padding_w, o.count_include_pad)};
}
Windows even_windows(const Shape& x, const Shape& y) {
  return {even_spans(x[2], y[2]), even_spans(x[3], y[3])};
}

/// Pooling keeps channels-last as it is; everything else becomes row-major.
Layout kept(const Meta& m) {
  return m.layout == Layout::channels_last ? m.layout : Layout::row_major;
}

void check_input(std::string_view op, const Meta& x, const char* what = "x") {
  require_rank(op, what, x, 4);
  require_floating(op, x, what);
}

/// Sums of average pooling: one flop for each element of each window, counting what padding would
/// add.
Cost window_cost(Cost c, double outputs, std::int64_t kh, std::int64_t kw) {
  c.flops = outputs * static_cast<double>(kh * kw);
  return c;
}

void check_even(std::string_view op, const Shape& x, std::int64_t h, std::int64_t w) {
  check<ValueError>(h >= 1 && w >= 1, op, ": output size must be positive, but is ", Dims{h, w});
  check<ShapeError>(x[2] >= 1 && x[3] >= 1, op, ": needs at least one row and column, but the shape is ", x);
}

}  // namespace

void MaxPool2d::infer(Metas in, OutMetas& out) const {
  const Meta& x = *in[0];
  check_input("max_pool2d", x);
  const Shape y = pooled("max_pool2d", x.shape, options);
  const bool small = options.kernel_h <= 256 && options.kernel_w <= 256 / options.kernel_h;
  check<ValueError>(options.kernel_h < (1 << 15) && options.kernel_w < (1 << 15),
                    "max_pool2d: kernel must be below 32768, but is ", Dims{options.kernel_h, options.kernel_w});
  out.add(y, x.dtype, kept(x));
  out.add(y, small ? DType::u8 : DType::i32, kept(x));
}
void MaxPool2d::forward(Inputs in, Outputs& out) const {
  kernels::max_pool2d(exec_of(out[0]), in[0], out[0], out[1], window(options));
}
void MaxPool2d::backward(Backward& b) const {
  const Shape& x = b.in_meta(0).shape;
  b.set(0, apply(MaxPool2dGrad(options, x[2], x[3]), {b.dout(), b.out(1)}));
}
Cost MaxPool2d::cost(Metas in, std::span<const Meta> out) const {
  return window_cost(Op::cost(in, out), static_cast<double>(out[0].numel), options.kernel_h, options.kernel_w);
}

void MaxPool2dGrad::infer(Metas in, OutMetas& out) const {
  const Meta &dy = *in[0], &at = *in[1];
  check_input("max_pool2d_grad", dy, "dy");
  check<DTypeError>(at.dtype == DType::u8 || at.dtype == DType::i32,
                    "max_pool2d_grad: places must be u8 or i32, but are ", name_of(at.dtype));
  check<ShapeError>(at.shape == dy.shape, "max_pool2d_grad: shapes differ: dy ", dy.shape, ", places ", at.shape);
  const Shape x{dy.shape[0], dy.shape[1], height, width};
  check_gradient_shape("max_pool2d_grad", dy, pooled("max_pool2d_grad", x, options));
  out.add(x, dy.dtype,
          kept(at));  // of the places, since they have the layout of the input of the pooling
}
void MaxPool2dGrad::forward(Inputs in, Outputs& out) const {
  kernels::max_pool2d_grad(exec_of(out[0]), in[0], in[1], out[0], window(options));
}

void AvgPool2d::infer(Metas in, OutMetas& out) const {
  const Meta& x = *in[0];
  check_input("avg_pool2d", x);
  out.add(pooled("avg_pool2d", x.shape, options), x.dtype, kept(x));
}
void AvgPool2d::forward(Inputs in, Outputs& out) const {
  const Windows w = windows(in[0].shape(), out[0].shape(), options);
  kernels::avg_pool2d(exec_of(out[0]), in[0], out[0], w.rows, w.columns);
}
void AvgPool2d::backward(Backward& b) const {
  const Shape& x = b.in_meta(0).shape;
  b.set(0, apply(AvgPool2dGrad(options, x[2], x[3]), {b.dout()}));
}
Cost AvgPool2d::cost(Metas in, std::span<const Meta> out) const {
  return window_cost(Op::cost(in, out), static_cast<double>(out[0].numel), options.kernel_h, options.kernel_w);
}

void AvgPool2dGrad::infer(Metas in, OutMetas& out) const {
  const Meta& dy = *in[0];
  check_input("avg_pool2d_grad", dy, "dy");
  const Shape x{dy.shape[0], dy.shape[1], height, width};
  check_gradient_shape("avg_pool2d_grad", dy, pooled("avg_pool2d_grad", x, options));
  out.add(x, dy.dtype, kept(dy));
}
void AvgPool2dGrad::forward(Inputs in, Outputs& out) const {
  const Windows w = windows(out[0].shape(), in[0].shape(), options);
  kernels::avg_pool2d_grad(exec_of(out[0]), in[0], out[0], w.rows, w.columns);
}
void AvgPool2dGrad::backward(Backward& b) const {
  b.set(0, apply(AvgPool2d(options), {b.dout()}));
}

void AdaptiveAvgPool2d::infer(Metas in, OutMetas& out) const {
  const Meta& x = *in[0];
  check_input("adaptive_avg_pool2d", x);
  check_even("adaptive_avg_pool2d", x.shape, height, width);
  out.add({x.shape[0], x.shape[1], height, width}, x.dtype, kept(x));
}
void AdaptiveAvgPool2d::forward(Inputs in, Outputs& out) const {
  const Windows w = even_windows(in[0].shape(), out[0].shape());
  kernels::avg_pool2d(exec_of(out[0]), in[0], out[0], w.rows, w.columns);
}
void AdaptiveAvgPool2d::backward(Backward& b) const {
  const Shape& x = b.in_meta(0).shape;
  b.set(0, apply(AdaptiveAvgPool2dGrad(x[2], x[3]), {b.dout()}));
}
Cost AdaptiveAvgPool2d::cost(Metas in, std::span<const Meta> out) const {
  const Shape& x = in[0]->shape;
  return window_cost(Op::cost(in, out), static_cast<double>(out[0].numel), (x[2] + height - 1) / height,
                     (x[3] + width - 1) / width);
}

void AdaptiveAvgPool2dGrad::infer(Metas in, OutMetas& out) const {
  const Meta& dy = *in[0];
  check_input("adaptive_avg_pool2d_grad", dy, "dy");
  check_even("adaptive_avg_pool2d_grad", dy.shape, height, width);
  out.add({dy.shape[0], dy.shape[1], height, width}, dy.dtype, kept(dy));
}
void AdaptiveAvgPool2dGrad::forward(Inputs in, Outputs& out) const {
  const Windows w = even_windows(out[0].shape(), in[0].shape());
  kernels::avg_pool2d_grad(exec_of(out[0]), in[0], out[0], w.rows, w.columns);
}
void AdaptiveAvgPool2dGrad::backward(Backward& b) const {
  const Shape& dy = b.in_meta(0).shape;
  b.set(0, apply(AdaptiveAvgPool2d(dy[2], dy[3]), {b.dout()}));
}

Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options) {
  return apply(MaxPool2d(options), {x});
}
Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options) {
  return apply(AvgPool2d(options), {x});
}
Tensor adaptive_avg_pool2d(const Tensor& x, std::int64_t height, std::int64_t width) {
  return apply(AdaptiveAvgPool2d(height, width), {x});
}

}  // namespace reel
