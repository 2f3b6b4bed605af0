#pragma once
// Losses. Each gives a sum (f32 for half inputs) and a count (f64), which has no gradient.
#include "reel/autograd/op.h"
#include "reel/kernels/math/functions.h"

namespace reel {

/// The sum over rows of -log softmax(logits) at the label, with the target (1 - e) one_hot + e / c
/// where e = label_smoothing (Szegedy et al. 2016). Inputs logits [n, c, d...], labels [n, d...];
/// outputs sum, count, and the log-sum-exp of each row. Rows with the label ignore_index add
/// nothing; if all do, sum and count are 0.
class CrossEntropy final : public OpOf<CrossEntropy> {
 public:
  static constexpr OpInfo kInfo{"cross_entropy", "sum of log(sum(e^x)) - x[label]", Cast::f32};
  explicit CrossEntropy(std::int64_t ignore = -100, double smoothing = 0)
      : ignore_index(ignore), label_smoothing(smoothing) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {3, 4}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  std::int64_t ignore_index;
  double label_smoothing;
};
/// dlogits = (softmax(logits) - target) * dsum, inputs logits, labels, lse, dsum. It is
/// differentiated as a function of logits and dsum, with lse = log(sum(e^logits)) between.
class CrossEntropyGrad final : public OpOf<CrossEntropyGrad> {
 public:
  static constexpr OpInfo kInfo{"cross_entropy_grad", "(softmax(x) - target) * dsum", Cast::f32};
  explicit CrossEntropyGrad(std::int64_t ignore = -100, double smoothing = 0)
      : ignore_index(ignore), label_smoothing(smoothing) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {15, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  std::int64_t ignore_index;
  double label_smoothing;
};

/// The sum over rows of -x at the label. Inputs x [n, c, d...] (log-probabilities), labels [n,
/// d...].
class Nll final : public OpOf<Nll> {
 public:
  static constexpr OpInfo kInfo{"nll", "sum of -x[label]", Cast::f32};
  explicit Nll(std::int64_t ignore = -100) : ignore_index(ignore) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {2, 0}; }
  std::int64_t ignore_index;
};
/// dx = -dsum at each label, 0 elsewhere. Inputs labels, dsum; dx has this shape and dtype.
class NllGrad final : public OpOf<NllGrad> {
 public:
  static constexpr OpInfo kInfo{"nll_grad", "-dsum at [label]", Cast::f32};
  NllGrad(std::int64_t ignore, const Shape& of_x, DType dtype_of_x)
      : ignore_index(ignore), shape(of_x), dtype(dtype_of_x) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {1, 0}; }
  std::int64_t ignore_index;
  Shape shape;
  DType dtype;
};

template <class F>
struct PairLossTraits;
#define REEL_TRAITS(F, NAME, FORMULA, FLOPS)                                       \
  template <>                                                                      \
  struct PairLossTraits<math::F> {                                                 \
    static constexpr OpInfo info{NAME, "sum of " FORMULA, Cast::f32};              \
    static constexpr OpInfo grad{NAME "_grad", "dsum * d/dx " FORMULA, Cast::f32}; \
    static constexpr double flops = FLOPS;                                         \
  };
REEL_TRAITS(SquaredError, "mse", "(x - t)^2", 3)
REEL_TRAITS(AbsoluteError, "l1", "|x - t|", 3)
REEL_TRAITS(SmoothL1, "smooth_l1", "d < beta ? d^2 / (2 beta) : d - beta / 2 of d = |x - t|", 6)
REEL_TRAITS(BinaryCrossEntropy, "bce", "-t ln(x) - (1 - t) ln(1 - x)", 28)
REEL_TRAITS(BinaryCrossEntropyWithLogits, "bce_with_logits", "max(x, 0) - x t + ln(1 + e^-|x|)", 28)
#undef REEL_TRAITS

/// The sum of f(x, t) over all elements; inputs x and t of one shape and dtype.
template <class F>
class PairLoss final : public OpOf<PairLoss<F>> {
 public:
  static constexpr OpInfo kInfo = PairLossTraits<F>::info;
  explicit PairLoss(F fn = {}) : f(fn) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {3, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  [[no_unique_address]] F f;
};
/// dx = df(x, t) * dsum, inputs x, t, dsum. All but that of bce can be differentiated again.
template <class F>
class PairLossGrad final : public OpOf<PairLossGrad<F>> {
 public:
  static constexpr OpInfo kInfo = PairLossTraits<F>::grad;
  explicit PairLossGrad(F fn = {}) : f(fn) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {7, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  [[no_unique_address]] F f;
};

}  // namespace reel
