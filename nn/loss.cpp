#include "reel/nn/loss.h"

namespace reel::nn {
namespace {
Loss of(SumCount s) {
  return {std::move(s.sum), std::move(s.count)};
}
}  // namespace

Tensor Loss::mean() const {
  const NoGrad off;
  // A count is a whole number, so the maximum with 1 changes only 0, whose sum is 0.
  return to(sum, DType::f64) / maximum(to(count, DType::f64), Tensor::full({}, 1, DType::f64, count.device()));
}

Loss cross_entropy(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options) {
  return of(cross_entropy_sum(logits, labels, options));
}
Loss nll(const Tensor& log_probabilities, const Tensor& labels, std::int64_t ignore_index) {
  return of(nll_sum(log_probabilities, labels, ignore_index));
}
Loss mse(const Tensor& x, const Tensor& target) {
  return of(mse_sum(x, target));
}
Loss l1(const Tensor& x, const Tensor& target) {
  return of(l1_sum(x, target));
}
Loss smooth_l1(const Tensor& x, const Tensor& target, double beta) {
  return of(smooth_l1_sum(x, target, beta));
}
Loss bce(const Tensor& probability, const Tensor& target) {
  return of(bce_sum(probability, target));
}
Loss bce_with_logits(const Tensor& logits, const Tensor& target) {
  return of(bce_with_logits_sum(logits, target));
}

}  // namespace reel::nn
