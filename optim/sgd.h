#pragma once
// Stochastic gradient descent, with momentum and Nesterov's variant.
#include "reel/optim/optimizer.h"

namespace reel::optim {

struct SGDOptions {
  double lr = 1e-2;
  double momentum = 0, dampening = 0;
  bool nesterov = false;
  double weight_decay = 0;  ///< added to the gradient, times the parameter
  // Of every optimizer:
  std::int64_t accumulate = 1;            ///< micro-batches in a window
  Tail tail = Tail::flush;                ///< of an epoch
  std::optional<double> clip_norm = {};   ///< of the whole gradient, once a window, after the division
  std::optional<double> clip_value = {};  ///< of each number of it; one of the two
  bool check_finite = true;               ///< look at every gradient first, and skip the update if one is not finite
};

/// g += weight_decay p;  b = momentum b + (1 - dampening) g (the first time: g);
/// p -= lr (nesterov ? g + momentum b : b), as torch.optim.SGD.
class SGD final : public Optimizer {
 public:
  /// Throws ValueError that names the option and its value, or for no, unnamed or repeated
  /// parameters.
  explicit SGD(std::vector<Parameter> parameters, const SGDOptions& options = {});

 protected:
  void update(const kernels::Exec& exec,
              std::span<kernels::UpdateItem> items,
              const kernels::GradientScale& scale,
              double lr) override;

 private:
  SGDOptions options_;
};

}  // namespace reel::optim
