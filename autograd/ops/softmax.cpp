#include "reel/autograd/ops/softmax.h"

#include "reel/autograd/ops/common.h"
#include "reel/kernels/softmax.h"

namespace reel {
namespace {

void infer_row(const OpInfo& info, Metas in, int dim, OutMetas& out) {
  const Meta& x = *in[0];
  require_floating(info.name, x);
  normalize_dim(dim, x.shape, info.name);
  out.add(x.shape, x.dtype, layout_like(x, x.shape));
}
void infer_row_grad(const OpInfo& info, Metas in, int dim, OutMetas& out) {
  require_same_dtype(info.name, "y", *in[0], "dy", *in[1]);
  check<ShapeError>(in[0]->shape == in[1]->shape, info.name, ": shapes differ: y ", in[0]->shape, ", dy ",
                    in[1]->shape);
  infer_row(info, in, dim, out);
}
Cost row_cost(const Op& op, Metas in, std::span<const Meta> out, double flops) {
  Cost c = op.Op::cost(in, out);
  c.flops *= flops;
  return c;
}
Tensor total(const Tensor& t, int dim) {
  return sum(t, {dim}, true);
}

}  // namespace

void Softmax::infer(Metas in, OutMetas& out) const {
  infer_row(kInfo, in, dim, out);
}
void Softmax::forward(Inputs in, Outputs& out) const {
  kernels::softmax(exec_of(out[0]), in[0], normalize_dim(dim, in[0].shape(), kInfo.name), out[0]);
}
void Softmax::backward(Backward& b) const {
  b.set(0, apply(SoftmaxGrad(dim), {b.out(), b.dout()}));
}
Cost Softmax::cost(Metas in, std::span<const Meta> out) const {
  return row_cost(*this, in, out, 14);
}

void SoftmaxGrad::infer(Metas in, OutMetas& out) const {
  infer_row_grad(kInfo, in, dim, out);
}
void SoftmaxGrad::forward(Inputs in, Outputs& out) const {
  kernels::softmax_grad(exec_of(out[0]), in[0], in[1], normalize_dim(dim, in[0].shape(), kInfo.name), out[0]);
}
void SoftmaxGrad::backward(Backward& b) const {  // of y (dy - sum y dy), whose derivative in dy is symmetric
  const Tensor &y = b.in(0), &dy = b.in(1), &g = b.dout();
  if (b.needs(0)) b.set(0, g * (dy - total(y * dy, dim)) - dy * total(g * y, dim));
  if (b.needs(1)) b.set(1, apply(SoftmaxGrad(dim), {y, g}));
}
Cost SoftmaxGrad::cost(Metas in, std::span<const Meta> out) const {
  return row_cost(*this, in, out, 4);
}

void LogSoftmax::infer(Metas in, OutMetas& out) const {
  infer_row(kInfo, in, dim, out);
}
void LogSoftmax::forward(Inputs in, Outputs& out) const {
  kernels::log_softmax(exec_of(out[0]), in[0], normalize_dim(dim, in[0].shape(), kInfo.name), out[0]);
}
void LogSoftmax::backward(Backward& b) const {
  b.set(0, apply(LogSoftmaxGrad(dim), {b.out(), b.dout()}));
}
Cost LogSoftmax::cost(Metas in, std::span<const Meta> out) const {
  return row_cost(*this, in, out, 14);
}

void LogSoftmaxGrad::infer(Metas in, OutMetas& out) const {
  infer_row_grad(kInfo, in, dim, out);
}
void LogSoftmaxGrad::forward(Inputs in, Outputs& out) const {
  kernels::log_softmax_grad(exec_of(out[0]), in[0], in[1], normalize_dim(dim, in[0].shape(), kInfo.name), out[0]);
}
void LogSoftmaxGrad::backward(Backward& b) const {  // of dy - e^y sum dy
  const Tensor &y = b.in(0), &dy = b.in(1), &g = b.dout();
  const Tensor p = exp(y);
  if (b.needs(0)) b.set(0, neg(g * p * total(dy, dim)));
  if (b.needs(1)) b.set(1, g - total(p * g, dim));
}
Cost LogSoftmaxGrad::cost(Metas in, std::span<const Meta> out) const {
  return row_cost(*this, in, out, 14);
}

Tensor softmax(const Tensor& x, int dim) {
  return apply(Softmax(dim), {x});
}
Tensor log_softmax(const Tensor& x, int dim) {
  return apply(LogSoftmax(dim), {x});
}

}  // namespace reel
