#include "reel/autograd/ops/reduce.h"

#include "reel/autograd/ops/common.h"
#include "reel/kernels/reduce.h"

namespace reel {
namespace {

DType statistics_dtype(DType t) {
  return t == DType::f64 ? DType::f64 : DType::f32;
}

/// How many elements make one of the result.
double terms(const Shape& x, unsigned mask) {
  double n = 1;
  for (int d = 0; d < x.rank(); ++d)
    if ((mask >> d) & 1u) n *= static_cast<double>(x[d]);
  return n;
}

Cost reduction_cost(const Op& op, Metas in, std::span<const Meta> out, double flops) {
  Cost c = op.Op::cost(in, out);
  c.flops = flops * static_cast<double>(in[0]->numel);
  return c;
}

/// d var / d(x - mean) = scale (x - mean)
double var_scale(double n, double correction) {
  return n > correction ? 2 / (n - correction) : std::numeric_limits<double>::quiet_NaN();
}

void infer_floating(const OpInfo& info, const Reduction& over, const Meta& x, OutMetas& out) {
  require_floating(info.name, x);
  out.add(over.result(x.shape, over.mask(x.shape, info.name)), x.dtype);
}

}  // namespace

unsigned Reduction::mask(const Shape& x, std::string_view op) const {
  if (dims.empty()) return (1u << x.rank()) - 1;
  unsigned m = 0;
  for (const std::int64_t dim : dims) {
    const unsigned bit = 1u << normalize_dim(static_cast<int>(dim), x, op);
    check<IndexError>(!(m & bit), op, ": dimension ", dim, " appears twice in dims ", dims, " for shape ", x);
    m |= bit;
  }
  return x.rank() ? m : 0;
}

Shape Reduction::result(const Shape& x, unsigned mask) const {
  Shape s;
  for (int d = 0; d < x.rank(); ++d) {
    if (!((mask >> d) & 1u))
      s.push_back(x[d]);
    else if (keepdim)
      s.push_back(1);
  }
  return s;
}

Tensor keep_dims(const Tensor& g, const Shape& x, unsigned mask) {
  const Shape kept = Reduction{{}, true}.result(x, mask);
  return g.shape() == kept ? g : reshape(g, kept);
}

void Sum::infer(Metas in, OutMetas& out) const {
  const Meta& x = *in[0];
  out.add(over.result(x.shape, over.mask(x.shape, kInfo.name)), is_integer(x.dtype) ? DType::i64 : x.dtype);
}
void Sum::forward(Inputs in, Outputs& out) const {
  kernels::sum(exec_of(out[0]), in[0], over.mask(in[0].shape(), kInfo.name), out[0]);
}
void Sum::backward(Backward& b) const {
  const Shape& x = b.in_meta(0).shape;
  const Tensor dx = expand(keep_dims(b.dout(), x, over.mask(x, kInfo.name)), x);
  // Few numbers are written out once, so that all that follows finds dense memory.
  constexpr std::int64_t kFew = 4096;
  b.set(0, dx.numel() <= kFew ? contiguous(dx) : dx);
}
Cost Sum::cost(Metas in, std::span<const Meta> out) const {
  return reduction_cost(*this, in, out, 1);
}

void Mean::infer(Metas in, OutMetas& out) const {
  infer_floating(kInfo, over, *in[0], out);
}
void Mean::forward(Inputs in, Outputs& out) const {
  kernels::mean(exec_of(out[0]), in[0], over.mask(in[0].shape(), kInfo.name), out[0]);
}
void Mean::backward(Backward& b) const {
  const Shape& x = b.in_meta(0).shape;
  const unsigned m = over.mask(x, kInfo.name);
  b.set(0, expand(keep_dims(b.dout() / terms(x, m), x, m), x));
}
Cost Mean::cost(Metas in, std::span<const Meta> out) const {
  return reduction_cost(*this, in, out, 1);
}

void Var::infer(Metas in, OutMetas& out) const {
  infer_floating(kInfo, over, *in[0], out);
  out.add(out.m[0].shape, statistics_dtype(in[0]->dtype));
}
void Var::forward(Inputs in, Outputs& out) const {
  kernels::var(exec_of(out[0]), in[0], over.mask(in[0].shape(), kInfo.name), correction, out[0], out[1]);
}
void Var::backward(Backward& b) const {
  const Shape& x = b.in_meta(0).shape;
  Tensor g;
  if (b.dout(0)) g = apply(VarGrad(over.dims, over.keepdim, correction), {b.in(0), b.out(1), b.dout(0)});
  if (b.dout(1)) {  // d mean / dx = 1 / n: comes up when this gradient is differentiated again
    const unsigned m = over.mask(x, kInfo.name);
    const Tensor share = to(expand(keep_dims(b.dout(1) / terms(x, m), x, m), x), b.in_meta(0).dtype);
    g = g ? g + share : share;
  }
  b.set(0, g);
}
Cost Var::cost(Metas in, std::span<const Meta> out) const {
  return reduction_cost(*this, in, out, 4);
}

void VarGrad::infer(Metas in, OutMetas& out) const {
  const Meta &x = *in[0], &mean = *in[1], &dy = *in[2];
  require_floating(kInfo.name, x);
  require_same_dtype(kInfo.name, "x", x, "dy", dy);
  check<DTypeError>(mean.dtype == statistics_dtype(x.dtype), kInfo.name, ": mean must be ",
                    name_of(statistics_dtype(x.dtype)), ", but is ", name_of(mean.dtype));
  const Shape result = over.result(x.shape, over.mask(x.shape, kInfo.name));
  check<ShapeError>(mean.shape == result && dy.shape == result, kInfo.name, ": mean and dy need the shape ", result,
                    ", but are ", mean.shape, ", ", dy.shape);
  out.add(x.shape, x.dtype, layout_like(x, x.shape));
}
void VarGrad::forward(Inputs in, Outputs& out) const {
  const Shape& x = in[0].shape();
  const unsigned m = over.mask(x, kInfo.name);
  kernels::var_grad(exec_of(out[0]), in[0], in[1], in[2], m, var_scale(terms(x, m), correction), out[0]);
}
void VarGrad::backward(Backward& b) const {
  const Tensor& g = b.dout();
  const Shape& shape = b.in_meta(0).shape;
  const DType wide = b.in_meta(1).dtype;
  const unsigned m = over.mask(shape, kInfo.name);
  const double scale = var_scale(terms(shape, m), correction);
  const auto total = [&](const Tensor& t) {  // over the reduced dimensions
    const Shape result = over.result(shape, m);
    return reshape(sum_to(t, Reduction{{}, true}.result(shape, m)), result);
  };
  if (b.needs(0) || b.needs(1)) {
    const Tensor dx = g * keep_dims(b.in(2), shape, m) * scale;
    if (b.needs(0)) b.set(0, dx);
    if (b.needs(1)) b.set(1, neg(total(to(dx, wide))));
  }
  if (b.needs(2)) {
    const Tensor centred = to(b.in(0), wide) - keep_dims(b.in(1), shape, m);
    b.set(2, to(total(to(g, wide) * centred) * scale, b.in_meta(2).dtype));
  }
}

void Norm::infer(Metas in, OutMetas& out) const {
  infer_floating(kInfo, over, *in[0], out);
}
void Norm::forward(Inputs in, Outputs& out) const {
  kernels::norm(exec_of(out[0]), in[0], over.mask(in[0].shape(), kInfo.name), out[0]);
}
void Norm::backward(Backward& b) const {
  const Tensor& x = b.in(0);
  const unsigned m = over.mask(x.shape(), kInfo.name);
  const Tensor y = keep_dims(b.out(), x.shape(), m);
  // x / y lies in [-1, 1], so the order of the factors keeps half types in range. Where y = 0, x =
  // 0.
  const Tensor safe = where(equal(y, Tensor::scalar(0, y.dtype())), Tensor::scalar(1, y.dtype()), y);
  b.set(0, x / safe * keep_dims(b.dout(), x.shape(), m));
}
Cost Norm::cost(Metas in, std::span<const Meta> out) const {
  return reduction_cost(*this, in, out, 2);
}

Tensor sum(const Tensor& x, const Dims& dims, bool keepdim) {
  return apply(Sum(dims, keepdim), {x});
}
Tensor mean(const Tensor& x, const Dims& dims, bool keepdim) {
  return apply(Mean(dims, keepdim), {x});
}
Tensor var(const Tensor& x, const Dims& dims, bool keepdim, double correction) {
  return apply(Var(dims, keepdim, correction), {x});
}
Tensor norm(const Tensor& x, const Dims& dims, bool keepdim) {
  return apply(Norm(dims, keepdim), {x});
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const int shift = x.rank() - shape.rank();
  Dims dims;
  bool fits = shift >= 0;
  for (int d = 0; d < x.rank() && fits; ++d) {
    const std::int64_t want = d < shift ? 1 : shape[d - shift];
    fits = want == x.shape()[d] || want == 1;
    if (d < shift || want != x.shape()[d]) dims.push_back(d);
  }
  check<ShapeError>(fits, "sum_to: shape ", x.shape(), " is no broadcast of ", shape,
                    ". Sizes must be equal or 1, counted from the last dimension");
  const bool only_leading = dims.rank() == shift;  // then dropping them gives the shape at once
  const Tensor y = sum(x, dims, !only_leading);
  return y.shape() == shape ? y : reshape(y, shape);
}

}  // namespace reel
