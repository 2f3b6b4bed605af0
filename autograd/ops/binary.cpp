#include "reel/autograd/ops/binary.h"

#include "reel/autograd/ops/common.h"
#include "reel/kernels/pointwise.h"

namespace reel {
namespace {

void add_broadcast(std::string_view op, const Meta& a, const Meta& b, DType dtype, OutMetas& out) {
  if (a.shape == b.shape) {
    out.add(a.shape, dtype, layout_like(a, a.shape));
  } else {
    const Shape shape = broadcast(a.shape, b.shape, op);
    out.add(shape, dtype, layout_like(a.shape == shape ? a : b, shape));
  }
}

/// The gradient of an operand that was broadcast: sums over the repeated places.
Tensor shaped(const Tensor& g, const Meta& m) {
  return g.shape() == m.shape ? g : sum_to(g, m.shape);
}

/// d max(a, b)/da is 1 where a wins, 1/2 where they are equal.
Tensor share(const Tensor& dy, const Tensor& winner, const Tensor& other, bool largest) {
  const Tensor zero = Tensor::scalar(0, dy.dtype());
  const Tensor tie = where(equal(winner, other), dy * 0.5, zero);
  return where(largest ? greater(winner, other) : less(winner, other), dy, tie);
}

}  // namespace

template <class F>
void Zip<F>::infer(Metas in, OutMetas& out) const {
  const Meta &a = *in[0], &b = *in[1];
  require_same_dtype(kInfo.name, "a", a, "b", b);
  check<DTypeError>(a.dtype != DType::boolean, kInfo.name, ": is not defined for bool. Convert with to(x, DType::i32)");
  if constexpr (std::is_same_v<F, math::Div> || std::is_same_v<F, math::Pow>) require_floating(kInfo.name, a);
  add_broadcast(kInfo.name, a, b, a.dtype, out);
}
template <class F>
void Zip<F>::forward(Inputs in, Outputs& out) const {
  kernels::zip(exec_of(out[0]), in[0], in[1], out[0], F{});
}
template <class F>
void Zip<F>::backward(Backward& b) const {
  using namespace math;
  const Tensor& dy = b.dout();
  const auto set = [&](int i, const Tensor& g) { b.set(i, shaped(g, b.in_meta(i))); };
  if constexpr (std::is_same_v<F, math::Add>) {
    if (b.needs(0)) set(0, dy);
    if (b.needs(1)) set(1, dy);
  } else if constexpr (std::is_same_v<F, Sub>) {
    if (b.needs(0)) set(0, dy);
    if (b.needs(1)) set(1, neg(dy));
  } else if constexpr (std::is_same_v<F, Mul>) {
    if (b.needs(0)) set(0, mul(dy, b.in(1)));
    if (b.needs(1)) set(1, mul(dy, b.in(0)));
  } else if constexpr (std::is_same_v<F, Div>) {  // y = a / b: da = dy / b, db = -dy y / b
    const Tensor da = div(dy, b.in(1));
    if (b.needs(0)) set(0, da);
    if (b.needs(1)) set(1, neg(mul(da, b.out())));
  } else if constexpr (std::is_same_v<F, Pow>) {  // da = dy b a^(b-1), db = dy y ln a, with 0 ln 0 = 0
    const Tensor &x = b.in(0), &e = b.in(1), zero = Tensor::scalar(0, dy.dtype());
    if (b.needs(0)) set(0, where(equal(e, zero), zero, dy * e * pow(x, e - 1)));
    if (b.needs(1)) set(1, where(equal(b.out(), zero), zero, dy * b.out() * log(x)));
  } else {
    constexpr bool largest = std::is_same_v<F, Maximum>;
    if (b.needs(0)) set(0, share(dy, b.in(0), b.in(1), largest));
    if (b.needs(1)) set(1, share(dy, b.in(1), b.in(0), largest));
  }
}

template <class F>
void Compare<F>::infer(Metas in, OutMetas& out) const {
  require_same_dtype(kInfo.name, "a", *in[0], "b", *in[1]);
  add_broadcast(kInfo.name, *in[0], *in[1], DType::boolean, out);
}
template <class F>
void Compare<F>::forward(Inputs in, Outputs& out) const {
  kernels::compare(exec_of(out[0]), in[0], in[1], out[0], F{});
}

void Where::infer(Metas in, OutMetas& out) const {
  check<DTypeError>(in[0]->dtype == DType::boolean, "where: condition must be bool, but is ", name_of(in[0]->dtype));
  require_same_dtype("where", "a", *in[1], "b", *in[2]);
  const Shape shape = broadcast(broadcast(in[0]->shape, in[1]->shape, "where"), in[2]->shape, "where");
  const Meta& like = in[1]->shape == shape ? *in[1] : *in[2];
  out.add(shape, in[1]->dtype, layout_like(like, shape));
}
void Where::forward(Inputs in, Outputs& out) const {
  kernels::where(exec_of(out[0]), in[0], in[1], in[2], out[0]);
}
void Where::backward(Backward& b) const {
  const Tensor zero = Tensor::scalar(0, b.dout().dtype());
  if (b.needs(1)) b.set(1, shaped(where(b.in(0), b.dout(), zero), b.in_meta(1)));
  if (b.needs(2)) b.set(2, shaped(where(b.in(0), zero, b.dout()), b.in_meta(2)));
}

#define REEL_INSTANTIATE(F) template class Zip<math::F>;
REEL_FOR_EACH_ZIP(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE
#define REEL_INSTANTIATE(F) template class Compare<math::F>;
REEL_FOR_EACH_COMPARE(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE

namespace {

/// Applies a two-input op after the promotion of mixed dtypes.
template <class O>
Tensor promoted(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) [[likely]]
    return apply(O(), {a, b});
  const DType d = promote(a.dtype(), b.dtype());
  return apply(O(), {to(a, d), to(b, d)});
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  return promoted<Zip<math::Add>>(a, b);
}
Tensor sub(const Tensor& a, const Tensor& b) {
  return promoted<Zip<math::Sub>>(a, b);
}
Tensor mul(const Tensor& a, const Tensor& b) {
  return promoted<Zip<math::Mul>>(a, b);
}
Tensor div(const Tensor& a, const Tensor& b) {
  return promoted<Zip<math::Div>>(a, b);
}
Tensor pow(const Tensor& a, const Tensor& b) {
  return promoted<Zip<math::Pow>>(a, b);
}
Tensor maximum(const Tensor& a, const Tensor& b) {
  return promoted<Zip<math::Maximum>>(a, b);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return promoted<Zip<math::Minimum>>(a, b);
}
Tensor operator+(const Tensor& a, const Tensor& b) {
  return add(a, b);
}
Tensor operator-(const Tensor& a, const Tensor& b) {
  return sub(a, b);
}
Tensor operator*(const Tensor& a, const Tensor& b) {
  return mul(a, b);
}
Tensor operator/(const Tensor& a, const Tensor& b) {
  return div(a, b);
}

Tensor equal(const Tensor& a, const Tensor& b) {
  return promoted<Compare<math::Equal>>(a, b);
}
Tensor not_equal(const Tensor& a, const Tensor& b) {
  return promoted<Compare<math::NotEqual>>(a, b);
}
Tensor less(const Tensor& a, const Tensor& b) {
  return promoted<Compare<math::Less>>(a, b);
}
Tensor less_equal(const Tensor& a, const Tensor& b) {
  return promoted<Compare<math::LessEqual>>(a, b);
}
Tensor greater(const Tensor& a, const Tensor& b) {
  return promoted<Compare<math::Greater>>(a, b);
}
Tensor greater_equal(const Tensor& a, const Tensor& b) {
  return promoted<Compare<math::GreaterEqual>>(a, b);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return apply(Where(), {condition, a, b});
  const DType d = promote(a.dtype(), b.dtype());
  return apply(Where(), {condition, to(a, d), to(b, d)});
}
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  return where(mask, Tensor::scalar(value, x.dtype()), x);
}

}  // namespace reel
