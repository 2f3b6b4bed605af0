#include "reel/autograd/ops/scan.h"

#include "reel/autograd/ops/common.h"
#include "reel/autograd/ops/reduce.h"
#include "reel/kernels/reduce.h"
#include "reel/kernels/softmax.h"

namespace reel {
namespace {

DType sum_dtype(DType t) {
  return is_integer(t) ? DType::i64 : t;
}

Shape without_dim(const Shape& x, int dim, bool keepdim, std::string_view op) {
  const Reduction over{{dim}, keepdim};
  return over.result(x, over.mask(x, op));
}

}  // namespace

void Prod::infer(Metas in, OutMetas& out) const {
  out.add(without_dim(in[0]->shape, dim, keepdim, kInfo.name), sum_dtype(in[0]->dtype));
}
void Prod::forward(Inputs in, Outputs& out) const {
  kernels::prod(exec_of(out[0]), in[0], normalize_dim(dim, in[0].shape(), kInfo.name), out[0]);
}
void Prod::backward(Backward& b) const {
  b.set(0, apply(ProdGrad(dim), {b.in(0), b.dout()}));
}

void ProdGrad::infer(Metas in, OutMetas& out) const {
  const Meta &x = *in[0], &dy = *in[1];
  require_floating(kInfo.name, x);
  require_same_dtype(kInfo.name, "x", x, "dy", dy);
  const Shape dropped = without_dim(x.shape, dim, false, kInfo.name);
  check<ShapeError>(dy.shape == dropped || dy.shape == without_dim(x.shape, dim, true, kInfo.name), kInfo.name,
                    ": dy needs the shape ", dropped, ", but is ", dy.shape);
  out.add(x.shape, x.dtype, layout_like(x, x.shape));
}
void ProdGrad::forward(Inputs in, Outputs& out) const {
  kernels::prod_grad(exec_of(out[0]), in[0], in[1], normalize_dim(dim, in[0].shape(), kInfo.name), out[0]);
}

void Cumsum::infer(Metas in, OutMetas& out) const {
  const Meta& x = *in[0];
  normalize_dim(dim, x.shape, kInfo.name);
  out.add(x.shape, sum_dtype(x.dtype), layout_like(x, x.shape));
}
void Cumsum::forward(Inputs in, Outputs& out) const {
  kernels::cumsum(exec_of(out[0]), in[0], normalize_dim(dim, in[0].shape(), kInfo.name), reverse, out[0]);
}
void Cumsum::backward(Backward& b) const {
  b.set(0, cumsum(b.dout(), dim, !reverse));
}

void LogSumExp::infer(Metas in, OutMetas& out) const {
  require_floating(kInfo.name, *in[0]);
  out.add(without_dim(in[0]->shape, dim, keepdim, kInfo.name), in[0]->dtype);
}
void LogSumExp::forward(Inputs in, Outputs& out) const {
  kernels::logsumexp(exec_of(out[0]), in[0], normalize_dim(dim, in[0].shape(), kInfo.name), out[0]);
}
void LogSumExp::backward(Backward& b) const {  // a softmax, which is 0 where all are -inf
  const Tensor& x = b.in(0);
  const unsigned m = Reduction{{dim}, keepdim}.mask(x.shape(), kInfo.name);
  b.set(0, softmax(x, dim) * keep_dims(b.dout(), x.shape(), m));
}
Cost LogSumExp::cost(Metas in, std::span<const Meta> out) const {
  Cost c = Op::cost(in, out);
  c.flops = 13 * static_cast<double>(in[0]->numel);  // maximum, difference, exponential, sum
  return c;
}

Tensor prod(const Tensor& x, int dim, bool keepdim) {
  return apply(Prod(dim, keepdim), {x});
}
Tensor cumsum(const Tensor& x, int dim, bool reverse) {
  return apply(Cumsum(dim, reverse), {x});
}
Tensor logsumexp(const Tensor& x, int dim, bool keepdim) {
  return apply(LogSumExp(dim, keepdim), {x});
}

}  // namespace reel
