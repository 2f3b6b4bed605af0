#pragma once
// One backward pass of an accumulation window.
#include <cstdint>

#include "reel/core/tensor.h"

namespace reel::optim {

class Optimizer;

/// Anything that is a sum over terms and the number of those terms, such as nn::Loss.
template <class T>
concept SumAndCount = requires(const T& loss) {
  static_cast<const Tensor&>(loss.sum);
  static_cast<const Tensor&>(loss.count);
};

/// "Micro-batch k of K". Made by Optimizer::next(), and usable until the next one is made.
///
/// A window of micro-batches with losses S_i over n_i terms ends in the gradient of
/// (sum of S_i) / (sum of n_i): the gradients of the sums add up, the counts add up beside them,
/// and the update divides once. So unequal micro-batches, ignored labels and a short last window
/// need no care.
class MicroBatch {
 public:
  std::int64_t index() const { return index_; }  ///< from 0
  std::int64_t of() const { return of_; }
  bool first() const { return index_ == 0; }
  /// Whether step() follows: the last of the window, or the one that was announced to close it.
  bool last() const { return last_; }

  /// Adds the loss's count to the window's and returns the sum, for Tape::backward. The count is
  /// read by the device alone. Throws StateError after the next micro-batch has begun, ShapeError
  /// for a count that is no single number.
  template <SumAndCount L>
  Tensor add(const L& loss) const {
    return add(loss.sum, loss.count);
  }
  Tensor add(const Tensor& sum, const Tensor& count) const;
  Tensor add(const Tensor& sum,
             double count) const;  ///< ValueError unless the count is finite and >= 0

  /// Joins a scalar a_i that is a mean or a penalty: returns n_i a_i, to be played back beside the
  /// sum (add the two, or play a tape for each). `count` is that n_i, usually the count of this
  /// micro-batch's loss; the window's count does not grow. The window then follows the gradient of
  /// (sum of S_i + n_i a_i) / (sum of n_i): with equal counts, the mean loss plus the mean of the
  /// a_i.
  Tensor auxiliary(const Tensor& scalar, const Tensor& count) const;
  Tensor auxiliary(const Tensor& scalar, double count) const;

  /// The window's count so far (one f64 on the parameters' device). Data parallel reduces it in
  /// place together with the gradients.
  const Tensor& window_count() const;

 private:
  friend class Optimizer;
  MicroBatch(Optimizer& optimizer, std::uint64_t serial, std::int64_t index, std::int64_t of, bool last)
      : optimizer_(&optimizer), serial_(serial), index_(index), of_(of), last_(last) {}
  void require_current(const char* what) const;

  Optimizer* optimizer_;
  std::uint64_t serial_;
  std::int64_t index_, of_;
  bool last_;
};

}  // namespace reel::optim
