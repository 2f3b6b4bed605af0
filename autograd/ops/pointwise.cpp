#include "reel/autograd/ops/pointwise.h"

#include "reel/autograd/ops/common.h"
#include "reel/kernels/pointwise.h"

namespace reel {
namespace {

/// Whether df(x, y) reads x; whether it reads y. What is not read is not kept on the tape.
template <class F>
constexpr bool reads_x() {
  using namespace math;
  return !(std::is_same_v<F, Neg> || std::is_same_v<F, Exp> || std::is_same_v<F, Expm1> || std::is_same_v<F, Sqrt> ||
           std::is_same_v<F, Reciprocal> || std::is_same_v<F, Tanh> || std::is_same_v<F, Sigmoid> ||
           std::is_same_v<F, Relu> || std::is_same_v<F, AddScalar> || std::is_same_v<F, MulScalar> ||
           std::is_same_v<F, Sign> || std::is_same_v<F, Floor> || std::is_same_v<F, Ceil> || std::is_same_v<F, Round>);
}
template <class F>
constexpr bool reads_y() {
  using namespace math;
  return std::is_same_v<F, Exp> || std::is_same_v<F, Expm1> || std::is_same_v<F, Sqrt> || std::is_same_v<F, Rsqrt> ||
         std::is_same_v<F, Reciprocal> || std::is_same_v<F, Tanh> || std::is_same_v<F, Sigmoid> ||
         std::is_same_v<F, Relu> || std::is_same_v<F, Elu>;
}
template <class F>
constexpr bool has_ddf = requires(F f, float v) {
  f.ddf(v, v);
};
/// Second derivatives may read x where the first does not (sqrt), so both are kept when in doubt.
template <class F>
constexpr bool ddf_reads_x() {
  using namespace math;
  return reads_x<F>() || std::is_same_v<F, Sqrt>;
}

const Meta& first_of(Metas in) {
  for (const Meta* m : in)
    if (m) return *m;
  return *in[0];
}

}  // namespace

template <class F>
void Map<F>::infer(Metas in, OutMetas& out) const {
  const Meta& x = *in[0];
  require_floating(kInfo.name, x);
  out.add(x.shape, x.dtype, layout_like(x, x.shape));
}
template <class F>
void Map<F>::forward(Inputs in, Outputs& out) const {
  kernels::map(exec_of(out[0]), in[0], out[0], f);
}
template <class F>
Saves Map<F>::saves() const {
  return {ddf_reads_x<F>() ? 1u : 0u, reads_y<F>() ? 1u : 0u};
}
template <class F>
void Map<F>::backward(Backward& b) const {
  const Tensor none;
  b.set(0, apply(MapGrad<F>(f), {ddf_reads_x<F>() ? b.in(0) : none, reads_y<F>() ? b.out() : none, b.dout()}));
}
template <class F>
Cost Map<F>::cost(Metas in, std::span<const Meta> out) const {
  Cost c = Op::cost(in, out);
  c.flops *= MapTraits<F>::flops;
  return c;
}

template <class F>
void MapGrad<F>::infer(Metas in, OutMetas& out) const {
  const Meta& dy = *in[2];
  out.add(dy.shape, dy.dtype, layout_like(first_of(in), dy.shape));
}
template <class F>
void MapGrad<F>::forward(Inputs in, Outputs& out) const {
  const Tensor &dy = in[2], &x = in[0] ? in[0] : dy, &y = in[1] ? in[1] : dy;  // dy stands in for what is not read
  kernels::map_grad(exec_of(out[0]), x, y, dy, out[0], f);
}
template <class F>
void MapGrad<F>::backward(Backward& b) const {
  const Tensor none;
  const Tensor &x = b.has(0) ? b.in(0) : none, &y = b.has(1) ? b.in(1) : none;
  if (b.needs(2)) b.set(2, apply(MapGrad<F>(f), {x, y, b.dout()}));
  if constexpr (has_ddf<F>) {
    // As a function of x alone (y = f(x)), d(dx)/dx = dy * ddf.
    if (b.needs(0))
      b.set(0, apply(MapGrad2<F>(f), {x, y, b.in(2), b.dout()}));
    else if (b.needs(1)) {
      // Only y is on the tape: dx = dy df(y), and d(df)/dy = ddf / df, with y = f(x) between them.
      const Tensor second = apply(MapGrad2<F>(f), {x, y, b.in(2), b.dout()});
      const Tensor first = apply(MapGrad<F>(f), {x, y, Tensor::full(y.shape(), 1, y.dtype(), y.device())});
      b.set(1, where(equal(first, Tensor::scalar(0, y.dtype())), Tensor::scalar(0, y.dtype()), second / first));
    }
  } else {
    if (b.needs(0) || b.needs(1)) Op::backward(b);
  }
}
template <class F>
Cost MapGrad<F>::cost(Metas in, std::span<const Meta> out) const {
  Cost c = Op::cost(in, out);
  c.flops *= MapTraits<F>::flops;
  return c;
}

template <class F>
void MapGrad2<F>::infer(Metas in, OutMetas& out) const {
  out.add(in[2]->shape, in[2]->dtype, layout_like(*in[2], in[2]->shape));
}
template <class F>
void MapGrad2<F>::forward(Inputs in, Outputs& out) const {
  const Tensor &a = in[2], &x = in[0] ? in[0] : a, &y = in[1] ? in[1] : a;
  kernels::map_grad2(exec_of(out[0]), x, y, a, in[3], out[0], f);
}

#define REEL_INSTANTIATE(F)    \
  template class Map<math::F>; \
  template class MapGrad<math::F>;
REEL_FOR_EACH_MAP(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE
#define REEL_INSTANTIATE(F) template class MapGrad2<math::F>;
REEL_FOR_EACH_MAP_WITH_DDF(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE

Tensor neg(const Tensor& x) {
  return apply(Map<math::Neg>(), {x});
}
Tensor abs(const Tensor& x) {
  return apply(Map<math::Abs>(), {x});
}
Tensor sign(const Tensor& x) {
  return apply(Map<math::Sign>(), {x});
}
Tensor floor(const Tensor& x) {
  return apply(Map<math::Floor>(), {x});
}
Tensor ceil(const Tensor& x) {
  return apply(Map<math::Ceil>(), {x});
}
Tensor round(const Tensor& x) {
  return apply(Map<math::Round>(), {x});
}
Tensor exp(const Tensor& x) {
  return apply(Map<math::Exp>(), {x});
}
Tensor expm1(const Tensor& x) {
  return apply(Map<math::Expm1>(), {x});
}
Tensor log(const Tensor& x) {
  return apply(Map<math::Log>(), {x});
}
Tensor log1p(const Tensor& x) {
  return apply(Map<math::Log1p>(), {x});
}
Tensor sqrt(const Tensor& x) {
  return apply(Map<math::Sqrt>(), {x});
}
Tensor rsqrt(const Tensor& x) {
  return apply(Map<math::Rsqrt>(), {x});
}
Tensor reciprocal(const Tensor& x) {
  return apply(Map<math::Reciprocal>(), {x});
}
Tensor square(const Tensor& x) {
  return apply(Map<math::Square>(), {x});
}
Tensor sin(const Tensor& x) {
  return apply(Map<math::Sin>(), {x});
}
Tensor cos(const Tensor& x) {
  return apply(Map<math::Cos>(), {x});
}
Tensor tanh(const Tensor& x) {
  return apply(Map<math::Tanh>(), {x});
}
Tensor sigmoid(const Tensor& x) {
  return apply(Map<math::Sigmoid>(), {x});
}
Tensor erf(const Tensor& x) {
  return apply(Map<math::Erf>(), {x});
}
Tensor relu(const Tensor& x) {
  return apply(Map<math::Relu>(), {x});
}
Tensor leaky_relu(const Tensor& x, double slope) {
  return apply(Map<math::LeakyRelu>({slope}), {x});
}
Tensor elu(const Tensor& x, double alpha) {
  return apply(Map<math::Elu>({alpha}), {x});
}
Tensor gelu(const Tensor& x) {
  return apply(Map<math::Gelu>(), {x});
}
Tensor gelu_tanh(const Tensor& x) {
  return apply(Map<math::GeluTanh>(), {x});
}
Tensor silu(const Tensor& x) {
  return apply(Map<math::Silu>(), {x});
}
Tensor softplus(const Tensor& x) {
  return apply(Map<math::Softplus>(), {x});
}
Tensor clamp(const Tensor& x, double low, double high) {
  check<ValueError>(low <= high, "clamp: low ", low, " is above high ", high);
  return apply(Map<math::Clamp>({low, high}), {x});
}
Tensor pow(const Tensor& x, double exponent) {
  return apply(Map<math::PowScalar>({exponent}), {x});
}
Tensor operator-(const Tensor& x) {
  return neg(x);
}
Tensor operator+(const Tensor& a, double b) {
  return apply(Map<math::AddScalar>({b}), {a});
}
Tensor operator-(const Tensor& a, double b) {
  return apply(Map<math::AddScalar>({-b}), {a});
}
Tensor operator*(const Tensor& a, double b) {
  return apply(Map<math::MulScalar>({b}), {a});
}
Tensor operator/(const Tensor& a, double b) {
  return apply(Map<math::MulScalar>({1 / b}), {a});
}
Tensor operator+(double a, const Tensor& b) {
  return b + a;
}
Tensor operator-(double a, const Tensor& b) {
  return neg(b) + a;
}
Tensor operator*(double a, const Tensor& b) {
  return b * a;
}
Tensor operator/(double a, const Tensor& b) {
  return reciprocal(b) * a;
}

}  // namespace reel
