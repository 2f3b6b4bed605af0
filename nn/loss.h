#pragma once
// Losses, as a sum over terms and their number.
#include "reel/autograd/ops.h"

namespace reel::nn {

/// Play back the sum, and hand the count to the optimizer, which divides once per window:
/// tape.backward(micro.add(loss)).
struct Loss {
  Tensor sum;    ///< one number
  Tensor count;  ///< number of terms, f64; a constant to every tape
  /// sum / count in f64 for printing, 0 where the count is 0. Unknown to every tape: the gradient
  /// is the sum's.
  Tensor mean() const;
};

/// -log softmax(logits)[label]: logits [n, c] or [n, c, d...], labels [n] or [n, d...]. Ignored
/// labels are not counted.
Loss cross_entropy(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options = {});
/// -log_probabilities[label]
Loss nll(const Tensor& log_probabilities, const Tensor& labels, std::int64_t ignore_index = -100);
/// These count every element.
Loss mse(const Tensor& x, const Tensor& target);
Loss l1(const Tensor& x, const Tensor& target);
Loss smooth_l1(const Tensor& x, const Tensor& target, double beta = 1);
Loss bce(const Tensor& probability, const Tensor& target);
Loss bce_with_logits(const Tensor& logits, const Tensor& target);

}  // namespace reel::nn
