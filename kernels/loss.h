#pragma once
// Losses as a sum and a count, and their gradients. Half types are computed in float; sums are kept
// in double, in an order that depends on the shape only.
#include "reel/kernels/view.h"

namespace reel::kernels {

/// Which labels count, and how much of the target is spread over all classes.
struct LabelOptions {
  std::int64_t ignore_index = -100;
  double smoothing = 0;
};

/// logits [n, c, d...], labels [n, d...] (i64 or i32). For a row x with label y, and e the
/// smoothing: lse = log(sum exp(x)), loss = lse - (1 - e) x_y - e / c sum(x). `sum` (a float type)
/// and `count` (f64) are single numbers; lse has the shape of the labels. Throws IndexError, before
/// anything is written, for a label that is neither a class nor ignore_index.
void cross_entropy(const Exec&,
                   const View& logits,
                   const View& labels,
                   const View& sum,
                   const View& count,
                   const View& lse,
                   const LabelOptions& options);
/// dlogits = (softmax(logits) - target) * dsum; 0 in ignored rows. dsum is a single number.
void cross_entropy_grad(const Exec&,
                        const View& logits,
                        const View& labels,
                        const View& lse,
                        const View& dsum,
                        const View& dlogits,
                        const LabelOptions& options);

/// The sum of -x_y over log-probabilities x.
void nll(const Exec&, const View& x, const View& labels, const View& sum, const View& count, std::int64_t ignore_index);
/// dx = -dsum at each label, 0 elsewhere.
void nll_grad(const Exec&, const View& labels, const View& dsum, const View& dx, std::int64_t ignore_index);

/// sum = sum of f(x, t) over two tensors of one shape, count = their number of elements
template <class F>
void pair_loss(const Exec&, const View& x, const View& t, const View& sum, const View& count, F f);
/// dx = df(x, t) * dsum
template <class F>
void pair_loss_grad(const Exec&, const View& x, const View& t, const View& dsum, const View& dx, F f);

}  // namespace reel::kernels
