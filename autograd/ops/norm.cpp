#include "reel/autograd/ops/norm.h"

#include "reel/autograd/ops/common.h"
#include "reel/kernels/norm.h"

namespace reel {
namespace {

using kernels::View;

/// f32 for half types, else the dtype itself: what statistics are kept in.
DType wide(DType d) {
  return is_half(d) ? DType::f32 : d;
}
const Meta* at(Metas in, std::size_t i) {
  return i < in.size() ? in[i] : nullptr;
}
View optional(Inputs in, int i) {
  return i < in.size() && in[i] ? View(in[i]) : View();
}
/// The output if its gradient was asked for.
View wanted_view(const Outputs& out, unsigned wanted, int i) {
  return wanted >> i & 1u ? View(out[i]) : View();
}

/// weight, bias and statistics: of x's dtype, or of the one that its statistics have.
void require_param(std::string_view op, const char* name, const Meta* m, const Meta& x, const Shape& shape) {
  if (!m) return;
  check<ShapeError>(m->shape == shape, op, ": ", name, " has the wrong shape: ", name, " ", m->shape, ", x ", x.shape,
                    ". It must be ", shape);
  check<DTypeError>(m->dtype == x.dtype || m->dtype == wide(x.dtype), op, ": dtypes differ: ", name, " ",
                    name_of(m->dtype), ", x ", name_of(x.dtype), ". Convert one with to(x, dtype)");
}
void require_params(std::string_view op, const Meta* weight, const Meta* bias, const Meta& x, const Shape& shape) {
  require_param(op, "weight", weight, x, shape);
  require_param(op, "bias", bias, x, shape);
  if (weight && bias) require_same_dtype(op, "weight", *weight, "bias", *bias);
}
void require_eps(std::string_view op, double eps) {
  check<ValueError>(eps >= 0 && eps < 1e30, op, ": eps must be a number >= 0, but is ", eps);
}
void require_channels(std::string_view op, const Meta& x) {
  require_floating(op, x, "x");
  check<ShapeError>(x.shape.rank() >= 2, op, ": x needs the shape [n, c, ...], but is ", x.shape);
}

/// Cuts a shape before its last `dims` dimensions.
std::pair<Shape, Shape> cut(std::string_view op, const Meta& x, int dims) {
  require_floating(op, x, "x");
  check<ValueError>(dims >= 1 && dims <= x.shape.rank(), op, ": cannot normalise over the last ", dims,
                    " dimensions of x ", x.shape);
  const auto middle = x.shape.begin() + (x.shape.rank() - dims);
  return {Shape(std::span(x.shape.begin(), middle)), Shape(std::span(middle, x.shape.end()))};
}
void add_gradients(const Meta& x, const Shape& param_shape, DType param, unsigned wanted, int n, OutMetas& out) {
  if (wanted & 1u)
    out.add(x.shape, x.dtype, layout_like(x, x.shape));
  else
    out.add({0}, x.dtype);
  for (int i = 1; i < n; ++i) out.add(wanted >> i & 1u ? param_shape : Shape{0}, param);
}
void require_dy(std::string_view op, const Meta& x, const Meta& dy) {
  check<ShapeError>(x.shape == dy.shape, op, ": shapes differ: x ", x.shape, ", dy ", dy.shape);
  require_same_dtype(op, "x", x, "dy", dy);
}

unsigned wanted_of(const Backward& b, int n) {
  unsigned wanted = 0;
  for (int i = 0; i < n; ++i) wanted |= b.needs(i) ? 1u << i : 0u;
  return wanted;
}
DType param_dtype(const Backward& b) {
  return b.has(1) ? b.in_meta(1).dtype : b.has(2) ? b.in_meta(2).dtype : b.in_meta(0).dtype;
}
void set_wanted(Backward& b, unsigned wanted, const Outputs& gradients) {
  for (int i = 0; i < gradients.n; ++i)
    if (wanted >> i & 1u) b.set(i, gradients[i]);
}

Cost with_flops(Cost c, const Meta& x, double each) {
  c.flops = each * static_cast<double>(x.numel);
  return c;
}

}  // namespace

void LayerNorm::infer(Metas in, OutMetas& out) const {
  const Meta& x = *in[0];
  const auto [rows, row] = cut(kInfo.name, x, dims);
  require_params(kInfo.name, at(in, 1), at(in, 2), x, row);
  require_eps(kInfo.name, eps);
  out.add(x.shape, x.dtype);
  out.add(rows, wide(x.dtype));
  out.add(rows, wide(x.dtype));
}
void LayerNorm::forward(Inputs in, Outputs& out) const {
  kernels::layer_norm(exec_of(out[0]), in[0], optional(in, 1), optional(in, 2), out[0], out[1], out[2], eps);
}
void LayerNorm::backward(Backward& b) const {
  const unsigned wanted = wanted_of(b, 3);
  const Tensor weight = b.has(1) ? b.in(1) : Tensor();
  set_wanted(b, wanted,
             apply_all(LayerNormGrad(dims, wanted, param_dtype(b)), {b.in(0), weight, b.out(1), b.out(2), b.dout()}));
}
Cost LayerNorm::cost(Metas in, std::span<const Meta> out) const {
  return with_flops(Op::cost(in, out), *in[0], 8);
}

void LayerNormGrad::infer(Metas in, OutMetas& out) const {
  const auto [rows, row] = cut(kInfo.name, *in[0], dims);
  require_params(kInfo.name, in[1], nullptr, *in[0], row);
  require_param(kInfo.name, "mean", in[2], *in[0], rows);
  require_param(kInfo.name, "rstd", in[3], *in[0], rows);
  require_dy(kInfo.name, *in[0], *in[4]);
  add_gradients(*in[0], row, param, wanted, 3, out);
}
void LayerNormGrad::forward(Inputs in, Outputs& out) const {
  kernels::layer_norm_grad(exec_of(out[0]), in[0], optional(in, 1), in[2], in[3], in[4], wanted_view(out, wanted, 0),
                           wanted_view(out, wanted, 1), wanted_view(out, wanted, 2));
}
Cost LayerNormGrad::cost(Metas in, std::span<const Meta> out) const {
  return with_flops(Op::cost(in, out), *in[0], 15);
}

void RmsNorm::infer(Metas in, OutMetas& out) const {
  const Meta& x = *in[0];
  const auto [rows, row] = cut(kInfo.name, x, dims);
  require_params(kInfo.name, at(in, 1), nullptr, x, row);
  require_eps(kInfo.name, eps);
  out.add(x.shape, x.dtype);
  out.add(rows, wide(x.dtype));
}
void RmsNorm::forward(Inputs in, Outputs& out) const {
  kernels::rms_norm(exec_of(out[0]), in[0], optional(in, 1), out[0], out[1], eps);
}
void RmsNorm::backward(Backward& b) const {
  const unsigned wanted = wanted_of(b, 2);
  const Tensor weight = b.has(1) ? b.in(1) : Tensor();
  set_wanted(b, wanted, apply_all(RmsNormGrad(dims, wanted), {b.in(0), weight, b.out(1), b.dout()}));
}
Cost RmsNorm::cost(Metas in, std::span<const Meta> out) const {
  return with_flops(Op::cost(in, out), *in[0], 4);
}

void RmsNormGrad::infer(Metas in, OutMetas& out) const {
  const auto [rows, row] = cut(kInfo.name, *in[0], dims);
  require_params(kInfo.name, in[1], nullptr, *in[0], row);
  require_param(kInfo.name, "rstd", in[2], *in[0], rows);
  require_dy(kInfo.name, *in[0], *in[3]);
  add_gradients(*in[0], row, in[1] ? in[1]->dtype : in[0]->dtype, wanted, 2, out);
}
void RmsNormGrad::forward(Inputs in, Outputs& out) const {
  kernels::rms_norm_grad(exec_of(out[0]), in[0], optional(in, 1), in[2], in[3], wanted_view(out, wanted, 0),
                         wanted_view(out, wanted, 1));
}
Cost RmsNormGrad::cost(Metas in, std::span<const Meta> out) const {
  return with_flops(Op::cost(in, out), *in[0], 11);
}

void GroupNorm::infer(Metas in, OutMetas& out) const {
  const Meta& x = *in[0];
  require_channels(kInfo.name, x);
  check<ValueError>(groups >= 1 && x.shape[1] % groups == 0, kInfo.name,
                    ": the channels cannot be cut into equal groups: channels ", x.shape[1], ", groups ", groups);
  require_params(kInfo.name, at(in, 1), at(in, 2), x, {x.shape[1]});
  require_eps(kInfo.name, eps);
  out.add(x.shape, x.dtype, layout_like(x, x.shape));
  out.add({x.shape[0], groups}, wide(x.dtype));
  out.add({x.shape[0], groups}, wide(x.dtype));
}
void GroupNorm::forward(Inputs in, Outputs& out) const {
  kernels::group_norm(exec_of(out[0]), in[0], optional(in, 1), optional(in, 2), out[0], out[1], out[2], eps);
}
void GroupNorm::backward(Backward& b) const {
  const unsigned wanted = wanted_of(b, 3);
  const Tensor weight = b.has(1) ? b.in(1) : Tensor();
  set_wanted(b, wanted,
             apply_all(GroupNormGrad(wanted, param_dtype(b)), {b.in(0), weight, b.out(1), b.out(2), b.dout()}));
}
Cost GroupNorm::cost(Metas in, std::span<const Meta> out) const {
  return with_flops(Op::cost(in, out), *in[0], 7);
}

void GroupNormGrad::infer(Metas in, OutMetas& out) const {
  const Meta& x = *in[0];
  require_channels(kInfo.name, x);
  require_params(kInfo.name, in[1], nullptr, x, {x.shape[1]});
  require_rank(kInfo.name, "mean", *in[2], 2);
  check<ShapeError>(in[2]->shape[1] >= 1 && x.shape[1] % in[2]->shape[1] == 0, kInfo.name,
                    ": mean needs the shape [n, groups]: mean ", in[2]->shape, ", x ", x.shape);
  require_param(kInfo.name, "mean", in[2], x, {x.shape[0], in[2]->shape[1]});
  require_param(kInfo.name, "rstd", in[3], x, in[2]->shape);
  require_dy(kInfo.name, x, *in[4]);
  add_gradients(x, {x.shape[1]}, param, wanted, 3, out);
}
void GroupNormGrad::forward(Inputs in, Outputs& out) const {
  kernels::group_norm_grad(exec_of(out[0]), in[0], optional(in, 1), in[2], in[3], in[4], wanted_view(out, wanted, 0),
                           wanted_view(out, wanted, 1), wanted_view(out, wanted, 2));
}
Cost GroupNormGrad::cost(Metas in, std::span<const Meta> out) const {
  return with_flops(Op::cost(in, out), *in[0], 9);
}

void BatchNorm::infer(Metas in, OutMetas& out) const {
  const Meta &x = *in[0], *mean = at(in, 3), *var = at(in, 4);
  require_channels(kInfo.name, x);
  const Shape channels{x.shape[1]};
  require_params(kInfo.name, at(in, 1), at(in, 2), x, channels);
  require_eps(kInfo.name, eps);
  check<ValueError>(!mean == !var, kInfo.name, ": needs both mean and var, or neither");
  out.add(x.shape, x.dtype, layout_like(x, x.shape));
  if (mean) {
    require_param(kInfo.name, "mean", mean, x, channels);
    require_param(kInfo.name, "var", var, x, channels);
    return;
  }
  check<ValueError>(x.numel != x.shape[1] || x.numel == 0, kInfo.name,
                    ": one value in each channel has no variance: x ", x.shape,
                    ". Use a larger batch, or batch_norm_eval with given statistics");
  out.add(channels, wide(x.dtype));
  out.add(channels, wide(x.dtype));
}
void BatchNorm::forward(Inputs in, Outputs& out) const {
  const kernels::Exec exec = exec_of(out[0]);
  const bool of_batch = out.n == 3;
  if (of_batch) kernels::batch_norm_statistics(exec, in[0], out[1], out[2]);
  kernels::batch_norm(exec, in[0], of_batch ? out[1] : in[3], of_batch ? out[2] : in[4], optional(in, 1),
                      optional(in, 2), out[0], eps);
}
void BatchNorm::backward(Backward& b) const {
  const bool of_batch = !b.has(3);
  check<GradError>(!of_batch || (!b.dout(1) && !b.dout(2)), kInfo.name,
                   ": mean and var of the batch are made for running ",
                   "averages and have no gradient. Use their detach(), or compute them with mean(x) and var(x)");
  const bool statistics = b.needs(3) || b.needs(4);
  const unsigned wanted = wanted_of(b, 3) | (statistics ? 6u : 0u);
  const Tensor weight = b.has(1) ? b.in(1) : Tensor();
  const Tensor &mean = of_batch ? b.out(1) : b.in(3), &var = of_batch ? b.out(2) : b.in(4);
  const Outputs g =
      apply_all(BatchNormGrad(eps, of_batch, wanted, param_dtype(b)), {b.in(0), weight, mean, var, b.dout()});
  for (int i = 0; i < 3; ++i)
    if (b.needs(i)) b.set(i, g[i]);
  if (!statistics) return;
  // With s = weight / sqrt(var + eps): dmean = -s dbias, dvar = -s dweight / (2 sqrt(var + eps)).
  const DType d = var.dtype();
  const Tensor r = rsqrt(var + eps), s = weight ? r * to(weight, d) : r;
  if (b.needs(3)) b.set(3, to(neg(s * to(g[2], d)), mean.dtype()));
  if (b.needs(4)) b.set(4, s * to(g[1], d) * r * -0.5);
}
Cost BatchNorm::cost(Metas in, std::span<const Meta> out) const {
  return with_flops(Op::cost(in, out), *in[0], out.size() == 3 ? 7 : 3);
}

void BatchNormGrad::infer(Metas in, OutMetas& out) const {
  const Meta& x = *in[0];
  require_channels(kInfo.name, x);
  const Shape channels{x.shape[1]};
  require_params(kInfo.name, in[1], nullptr, x, channels);
  require_param(kInfo.name, "mean", in[2], x, channels);
  require_param(kInfo.name, "var", in[3], x, channels);
  require_dy(kInfo.name, x, *in[4]);
  add_gradients(x, channels, param, wanted, 3, out);
}
void BatchNormGrad::forward(Inputs in, Outputs& out) const {
  kernels::batch_norm_grad(exec_of(out[0]), in[0], in[2], in[3], optional(in, 1), in[4], wanted_view(out, wanted, 0),
                           wanted_view(out, wanted, 1), wanted_view(out, wanted, 2), eps, of_batch);
}
Cost BatchNormGrad::cost(Metas in, std::span<const Meta> out) const {
  return with_flops(Op::cost(in, out), *in[0], 9);
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, int dims) {
  return apply(LayerNorm(eps, weight ? weight.rank() : bias ? bias.rank() : dims), {x, weight, bias});
}
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps, int dims) {
  return apply(RmsNorm(eps, weight ? weight.rank() : dims), {x, weight});
}
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  return apply(GroupNorm(groups, eps), {x, weight, bias});
}
BatchNormResult batch_norm_train(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  Outputs out = apply_all(BatchNorm(eps), {x, weight, bias});
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}
Tensor batch_norm_eval(
    const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& weight, const Tensor& bias, double eps) {
  check<ValueError>(mean && var, "batch_norm_eval: needs the statistics mean and var, but one is empty");
  return apply(BatchNorm(eps), {x, weight, bias, mean, var});
}

}  // namespace reel
