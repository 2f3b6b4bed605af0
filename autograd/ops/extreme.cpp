#include "reel/autograd/ops/extreme.h"

#include "reel/autograd/ops/common.h"
#include "reel/autograd/ops/reduce.h"
#include "reel/kernels/reduce.h"

namespace reel {
namespace {

/// Shape of the result; messages carry the name of the function that was called.
Shape reduced_shape(const Meta& x, int dim, bool keepdim, std::string_view op) {
  const Reduction over{{dim}, keepdim};
  const unsigned mask = over.mask(x.shape, op);
  check<ShapeError>(mask == 0 || x.shape[normalize_dim(dim, x.shape, op)] > 0, op,
                    ": nothing to choose from: dimension ", dim, " of shape ", x.shape, " is empty");
  return over.result(x.shape, mask);
}

/// Zeros like the input with dy at `positions` along dim. Both have the input's rank.
Tensor put(const Tensor& dy, const Tensor& positions, int dim, const Meta& x) {
  if (x.shape.rank() == 0) return reshape(dy, {});
  return scatter_add(Tensor::zeros(x.shape, x.dtype, x.device), dim, positions, dy);
}

/// One comparison for each element read.
Cost reading_cost(const Op& op, Metas in, std::span<const Meta> out) {
  Cost c = op.Op::cost(in, out);
  c.flops = static_cast<double>(in[0]->numel);
  return c;
}

}  // namespace

void Extreme::infer(Metas in, OutMetas& out) const {
  const Shape shape = reduced_shape(*in[0], dim, keepdim, largest ? "max" : "min");
  out.add(shape, in[0]->dtype);
  out.add(shape, DType::i64);
}
void Extreme::forward(Inputs in, Outputs& out) const {
  kernels::extreme(exec_of(out[0]), in[0], normalize_dim(dim, in[0].shape(), kInfo.name), largest, out[0], out[1]);
}
void Extreme::backward(Backward& b) const {
  const Meta& x = b.in_meta(0);
  const unsigned mask = Reduction{{dim}, keepdim}.mask(x.shape, kInfo.name);
  b.set(0, put(keep_dims(b.dout(), x.shape, mask), keep_dims(b.out(1), x.shape, mask), dim, x));
}
Cost Extreme::cost(Metas in, std::span<const Meta> out) const {
  return reading_cost(*this, in, out);
}

void ExtremeAll::infer(Metas in, OutMetas& out) const {
  check<ShapeError>(in[0]->numel > 0, largest ? "max" : "min", ": nothing to choose from: shape ", in[0]->shape,
                    " has no elements");
  out.add({}, in[0]->dtype);
}
void ExtremeAll::forward(Inputs in, Outputs& out) const {
  kernels::extreme_all(exec_of(out[0]), in[0], largest, out[0]);
}
void ExtremeAll::backward(Backward& b) const {
  const Tensor &x = b.in(0), &dy = b.dout();
  // The winners: equal to y or, when y is NaN and equal to nothing, the NaNs. Their count would not
  // fit into f16.
  const Tensor won = where(equal(x, b.out()), Tensor::scalar(1, DType::boolean), not_equal(x, x));
  const Tensor share = to(to(dy, DType::f64) / to(sum(won), DType::f64), dy.dtype());
  b.set(0, where(won, share, Tensor::scalar(0, dy.dtype())));
}
Cost ExtremeAll::cost(Metas in, std::span<const Meta> out) const {
  return reading_cost(*this, in, out);
}

void ArgExtreme::infer(Metas in, OutMetas& out) const {
  out.add(reduced_shape(*in[0], dim, keepdim, largest ? "argmax" : "argmin"), DType::i64);
}
void ArgExtreme::forward(Inputs in, Outputs& out) const {
  kernels::extreme(exec_of(out[0]), in[0], normalize_dim(dim, in[0].shape(), kInfo.name), largest, {}, out[0]);
}
Cost ArgExtreme::cost(Metas in, std::span<const Meta> out) const {
  return reading_cost(*this, in, out);
}

void TopK::infer(Metas in, OutMetas& out) const {
  const Meta& x = *in[0];
  const int d = normalize_dim(dim, x.shape, kInfo.name);
  const std::int64_t n = x.shape.rank() ? x.shape[d] : 1;
  check<ValueError>(k >= 0 && k <= n, kInfo.name, ": k is out of range: k ", k, ", dimension ", dim, " of shape ",
                    x.shape, " has ", n, " elements");
  check<ShapeError>(x.shape.rank() > 0, kInfo.name, ": a scalar has no dimension to select from");
  Shape shape = x.shape;
  shape[d] = k;
  out.add(shape, x.dtype);
  out.add(shape, DType::i64);
}
void TopK::forward(Inputs in, Outputs& out) const {
  kernels::topk(exec_of(out[0]), in[0], normalize_dim(dim, in[0].shape(), kInfo.name), largest, out[0], out[1]);
}
void TopK::backward(Backward& b) const {
  b.set(0, put(b.dout(), b.out(1), dim, b.in_meta(0)));
}

namespace {

ValuesIndices both(Outputs out) {
  return {std::move(out[0]), std::move(out[1])};
}

}  // namespace

ValuesIndices max(const Tensor& x, int dim, bool keepdim) {
  return both(apply_all(Extreme(dim, keepdim, true), {x}));
}
ValuesIndices min(const Tensor& x, int dim, bool keepdim) {
  return both(apply_all(Extreme(dim, keepdim, false), {x}));
}
Tensor max(const Tensor& x) {
  return apply(ExtremeAll(true), {x});
}
Tensor min(const Tensor& x) {
  return apply(ExtremeAll(false), {x});
}
Tensor argmax(const Tensor& x, int dim, bool keepdim) {
  return apply(ArgExtreme(dim, keepdim, true), {x});
}
Tensor argmin(const Tensor& x, int dim, bool keepdim) {
  return apply(ArgExtreme(dim, keepdim, false), {x});
}
ValuesIndices topk(const Tensor& x, std::int64_t k, int dim, bool largest) {
  return both(apply_all(TopK(k, dim, largest), {x}));
}

}  // namespace reel
