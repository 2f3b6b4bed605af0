#pragma once
// A moving average of the weights, for evaluation (Polyak and Juditsky 1992).
#include "reel/kernels/optimizer.h"
#include "reel/optim/optimizer.h"

namespace reel::optim {

struct EmaOptions {
  double decay = 0.999;
  /// The decay of update k is min(decay, k / (k + 9)), k from 1: early weights are forgotten soon.
  bool warmup = false;
};

/// Keeps a copy s of each parameter p, f32 for half ones; s += (1 - decay)(p - s) in each update.
class Ema {
 public:
  /// Starts with the parameters as they are. Throws ValueError for a decay outside [0, 1).
  explicit Ema(std::vector<Parameter> parameters, const EmaOptions& options = {});
  ~Ema();
  Ema(const Ema&) = delete;
  Ema& operator=(const Ema&) = delete;

  /// After an applied step; any other is ignored: ema.update(optimizer.step()).
  /// Throws StateError while the averages stand in for the weights.
  void update(Step step);
  std::int64_t updates() const { return updates_; }

  /// Puts the averages into the parameters, in place, and the trained weights back at the closing
  /// brace.
  class [[nodiscard]] Evaluation {
   public:
    explicit Evaluation(Ema& ema) : ema_(ema) { ema_.swap_in(); }
    ~Evaluation() { ema_.swap_out(); }
    Evaluation(const Evaluation&) = delete;
    Evaluation& operator=(const Evaluation&) = delete;

   private:
    Ema& ema_;
  };

  State state() const;  ///< "updates", and "ema.NAME" for each parameter (the living tensors)
  /// Throws ValueError when a name, a shape or a dtype does not fit, and then changes nothing.
  void load_state(const State& state);

 private:
  void swap_in();
  void swap_out() noexcept;
  kernels::Exec exec() const;

  std::vector<Parameter> parameters_;
  EmaOptions options_;
  std::vector<Tensor> mean_,
      trained_;  // trained_: the weights, while the averages stand in for them
  std::vector<kernels::UpdateItem> items_;
  std::int64_t updates_ = 0;
};

}  // namespace reel::optim
