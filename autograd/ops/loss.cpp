#include "reel/autograd/ops/loss.h"

#include "reel/autograd/ops/common.h"
#include "reel/kernels/loss.h"

namespace reel {
namespace {

/// f32 for half types, else the dtype itself: what a sum is given in.
DType wide(DType d) {
  return is_half(d) ? DType::f32 : d;
}

void require_labels(std::string_view op, const char* name, const Shape& x, const Meta& labels) {
  check<ShapeError>(x.rank() >= 2, op, ": ", name, " needs the shape [n, classes, ...], but is ", x);
  require_index(op, "labels", labels);
  Shape rows = x;
  rows.erase(1);
  check<ShapeError>(labels.shape == rows, op, ": shapes differ: ", name, " ", x, ", labels ", labels.shape,
                    ". The labels must be ", rows, ", one class index for each row of classes");
}
void require_smoothing(std::string_view op, double e) {
  check<ValueError>(e >= 0 && e <= 1, op, ": label_smoothing must lie in [0, 1], but is ", e);
}
void require_number(std::string_view op, const Meta& dsum) {
  require_floating(op, dsum, "dsum");
  check<ShapeError>(dsum.numel == 1, op, ": dsum must be one number, but its shape is ", dsum.shape);
}
void add_sum_count(DType dtype, OutMetas& out) {
  out.add(Shape{}, wide(dtype));
  out.add(Shape{}, DType::f64);
}

/// x where the label counts, 0 elsewhere.
Tensor counted_rows(const Tensor& x, const Tensor& labels, std::int64_t ignore_index) {
  const Tensor ignored =
      equal(labels, Tensor::full({}, static_cast<double>(ignore_index), labels.dtype(), labels.device()));
  return masked_fill(x, unsqueeze(ignored, 1), 0);
}
/// The sum of a * b, in the dtype of a sum.
Tensor inner(const Tensor& a, const Tensor& b) {
  return sum(to(mul(a, b), wide(a.dtype())));
}
Tensor one(const Tensor& like) {
  return Tensor::full({}, 1, like.dtype(), like.device());
}

}  // namespace

void CrossEntropy::infer(Metas in, OutMetas& out) const {
  const Meta &logits = *in[0], &labels = *in[1];
  require_floating(kInfo.name, logits, "logits");
  require_labels(kInfo.name, "logits", logits.shape, labels);
  require_smoothing(kInfo.name, label_smoothing);
  add_sum_count(logits.dtype, out);
  out.add(labels.shape, wide(logits.dtype));
}
void CrossEntropy::forward(Inputs in, Outputs& out) const {
  kernels::cross_entropy(exec_of(out[0]), in[0], in[1], out[0], out[1], out[2], {ignore_index, label_smoothing});
}
void CrossEntropy::backward(Backward& b) const {
  if (!b.needs(0) || !b.dout(0)) return;
  b.set(0, apply(CrossEntropyGrad(ignore_index, label_smoothing), {b.in(0), b.in(1), b.out(2), b.dout(0)}));
}
Cost CrossEntropy::cost(Metas in, std::span<const Meta> out) const {
  Cost c = Op::cost(in, out);
  c.flops = 12 * static_cast<double>(in[0]->numel);
  return c;
}

void CrossEntropyGrad::infer(Metas in, OutMetas& out) const {
  const Meta &logits = *in[0], &labels = *in[1], &lse = *in[2];
  require_floating(kInfo.name, logits, "logits");
  require_labels(kInfo.name, "logits", logits.shape, labels);
  require_smoothing(kInfo.name, label_smoothing);
  require_floating(kInfo.name, lse, "lse");
  check<ShapeError>(lse.shape == labels.shape, kInfo.name, ": shapes differ: lse ", lse.shape, ", labels ",
                    labels.shape);
  require_number(kInfo.name, *in[3]);
  out.add(logits.shape, logits.dtype, layout_like(logits, logits.shape));
}
void CrossEntropyGrad::forward(Inputs in, Outputs& out) const {
  kernels::cross_entropy_grad(exec_of(out[0]), in[0], in[1], in[2], in[3], out[0], {ignore_index, label_smoothing});
}
void CrossEntropyGrad::backward(Backward& b) const {
  // With p = softmax(x): d(p . g)/dx = p (g - p . g) in each row; the target is a constant.
  const Tensor &x = b.in(0), &labels = b.in(1), &dsum = b.in(3);
  const Tensor g = counted_rows(b.dout(), labels, ignore_index);
  if (b.needs(0)) {
    const Tensor p = softmax(x, 1);
    b.set(0, p * (g - sum(p * g, {1}, true)) * to(dsum, x.dtype()));
  }
  if (b.needs(3))
    b.set(3, inner(g, apply(CrossEntropyGrad(ignore_index, label_smoothing), {x, labels, b.in(2), one(dsum)})));
}
Cost CrossEntropyGrad::cost(Metas in, std::span<const Meta> out) const {
  Cost c = Op::cost(in, out);
  c.flops = 13 * static_cast<double>(in[0]->numel);
  return c;
}

void Nll::infer(Metas in, OutMetas& out) const {
  require_floating(kInfo.name, *in[0], "log_probabilities");
  require_labels(kInfo.name, "log_probabilities", in[0]->shape, *in[1]);
  add_sum_count(in[0]->dtype, out);
}
void Nll::forward(Inputs in, Outputs& out) const {
  kernels::nll(exec_of(out[0]), in[0], in[1], out[0], out[1], ignore_index);
}
void Nll::backward(Backward& b) const {
  if (!b.needs(0) || !b.dout(0)) return;
  b.set(0, apply(NllGrad(ignore_index, b.in_meta(0).shape, b.in_meta(0).dtype), {b.in(1), b.dout(0)}));
}

void NllGrad::infer(Metas in, OutMetas& out) const {
  require_labels(kInfo.name, "x", shape, *in[0]);
  require_number(kInfo.name, *in[1]);
  out.add(shape, dtype);
}
void NllGrad::forward(Inputs in, Outputs& out) const {
  kernels::nll_grad(exec_of(out[0]), in[0], in[1], out[0], ignore_index);
}
void NllGrad::backward(Backward& b) const {  // dx . g = dsum * nll(g)
  if (b.needs(1)) b.set(1, to(apply(Nll(ignore_index), {b.dout(), b.in(0)}), b.in_meta(1).dtype));
}

template <class F>
void PairLoss<F>::infer(Metas in, OutMetas& out) const {
  const Meta &x = *in[0], &t = *in[1];
  require_floating(kInfo.name, x);
  check<ShapeError>(x.shape == t.shape, kInfo.name, ": shapes differ: input ", x.shape, ", target ", t.shape,
                    ". Nothing is broadcast here: use reshape or expand");
  require_same_dtype(kInfo.name, "input", x, "target", t);
  if constexpr (std::is_same_v<F, math::SmoothL1>)
    check<ValueError>(f.beta >= 0, kInfo.name, ": beta must not be negative, but is ", f.beta);
  add_sum_count(x.dtype, out);
}
template <class F>
void PairLoss<F>::forward(Inputs in, Outputs& out) const {
  kernels::pair_loss(exec_of(out[0]), in[0], in[1], out[0], out[1], f);
}
template <class F>
void PairLoss<F>::backward(Backward& b) const {
  if (!b.dout(0)) return;
  const Tensor &x = b.in(0), &t = b.in(1), &dsum = b.dout(0);
  if constexpr (std::is_same_v<F, math::BinaryCrossEntropy>) {  // d/dt = ln(1 - x) - ln(x), both
                                                                // cut off at -100
    const auto ln = [](const Tensor& p) { return clamp(p, -100, std::numeric_limits<double>::infinity()); };
    if (b.needs(0)) b.set(0, apply(PairLossGrad<F>(f), {x, t, dsum}));
    if (b.needs(1)) b.set(1, (ln(log1p(neg(x))) - ln(log(x))) * to(dsum, x.dtype()));
  } else if constexpr (std::is_same_v<F, math::BinaryCrossEntropyWithLogits>) {  // d/dt = -x
    if (b.needs(0)) b.set(0, apply(PairLossGrad<F>(f), {x, t, dsum}));
    if (b.needs(1)) b.set(1, neg(x) * to(dsum, x.dtype()));
  } else {  // functions of x - t
    const Tensor dx = apply(PairLossGrad<F>(f), {x, t, dsum});
    if (b.needs(0)) b.set(0, dx);
    if (b.needs(1)) b.set(1, neg(dx));
  }
}
template <class F>
Cost PairLoss<F>::cost(Metas in, std::span<const Meta> out) const {
  Cost c = Op::cost(in, out);
  c.flops = PairLossTraits<F>::flops * static_cast<double>(in[0]->numel);
  return c;
}

template <class F>
void PairLossGrad<F>::infer(Metas in, OutMetas& out) const {
  const Meta &x = *in[0], &t = *in[1];
  require_floating(kInfo.name, x);
  check<ShapeError>(x.shape == t.shape, kInfo.name, ": shapes differ: input ", x.shape, ", target ", t.shape);
  require_same_dtype(kInfo.name, "input", x, "target", t);
  require_number(kInfo.name, *in[2]);
  out.add(x.shape, x.dtype, layout_like(x, x.shape));
}
template <class F>
void PairLossGrad<F>::forward(Inputs in, Outputs& out) const {
  kernels::pair_loss_grad(exec_of(out[0]), in[0], in[1], in[2], out[0], f);
}
template <class F>
void PairLossGrad<F>::backward(Backward& b) const {
  const Tensor &x = b.in(0), &t = b.in(1), &dsum = b.in(2), &g = b.dout();
  if (b.needs(0) || b.needs(1)) {
    const Tensor gs = g * to(dsum, x.dtype());
    if constexpr (std::is_same_v<F, math::BinaryCrossEntropyWithLogits>) {  // df = sigmoid(x) - t
      const Tensor s = sigmoid(x);
      if (b.needs(0)) b.set(0, gs * s * (1 - s));
      if (b.needs(1)) b.set(1, neg(gs));
    } else if constexpr (std::is_same_v<F, math::BinaryCrossEntropy>) {
      Op::backward(b);
    } else {
      Tensor second;
      if constexpr (std::is_same_v<F, math::SquaredError>)
        second = gs * 2;
      else if constexpr (std::is_same_v<F, math::AbsoluteError>)
        second = Tensor::zeros(x.shape(), x.dtype(), x.device());
      else
        second = masked_fill(gs * (1 / f.beta),
                             greater_equal(abs(x - t), Tensor::full({}, f.beta, x.dtype(), x.device())), 0);
      if (b.needs(0)) b.set(0, second);
      if (b.needs(1)) b.set(1, neg(second));
    }
  }
  if (b.needs(2)) b.set(2, inner(g, apply(PairLossGrad<F>(f), {x, t, one(dsum)})));
}
template <class F>
Cost PairLossGrad<F>::cost(Metas in, std::span<const Meta> out) const {
  Cost c = Op::cost(in, out);
  c.flops = PairLossTraits<F>::flops * static_cast<double>(in[0]->numel);
  return c;
}

#define REEL_INSTANTIATE(F)         \
  template class PairLoss<math::F>; \
  template class PairLossGrad<math::F>;
REEL_FOR_EACH_PAIR_LOSS(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE

namespace {

template <class T>
SumCount sum_count(const T& op, const Tensor& x, const Tensor& target) {
  Outputs out = apply_all(op, {x, target});
  return {std::move(out[0]), std::move(out[1])};
}

}  // namespace

SumCount cross_entropy_sum(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options) {
  return sum_count(CrossEntropy(options.ignore_index, options.label_smoothing), logits, labels);
}
SumCount nll_sum(const Tensor& log_probabilities, const Tensor& labels, std::int64_t ignore_index) {
  return sum_count(Nll(ignore_index), log_probabilities, labels);
}
SumCount mse_sum(const Tensor& x, const Tensor& target) {
  return sum_count(PairLoss<math::SquaredError>(), x, target);
}
SumCount l1_sum(const Tensor& x, const Tensor& target) {
  return sum_count(PairLoss<math::AbsoluteError>(), x, target);
}
SumCount smooth_l1_sum(const Tensor& x, const Tensor& target, double beta) {
  return sum_count(PairLoss<math::SmoothL1>({beta}), x, target);
}
SumCount bce_sum(const Tensor& probability, const Tensor& target) {
  return sum_count(PairLoss<math::BinaryCrossEntropy>(), probability, target);
}
SumCount bce_with_logits_sum(const Tensor& logits, const Tensor& target) {
  return sum_count(PairLoss<math::BinaryCrossEntropyWithLogits>(), logits, target);
}

}  // namespace reel
