#pragma once
// Adam and AdamW.
#include "reel/optim/optimizer.h"

namespace reel::optim {

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  ///< added to the gradient, times the parameter
  // Of every optimizer, see SGDOptions:
  std::int64_t accumulate = 1;
  Tail tail = Tail::flush;
  std::optional<double> clip_norm = {}, clip_value = {};
  bool check_finite = true;
};

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;  ///< p loses the fraction lr * weight_decay in each update
  // Of every optimizer, see SGDOptions:
  std::int64_t accumulate = 1;
  Tail tail = Tail::flush;
  std::optional<double> clip_norm = {}, clip_value = {};
  bool check_finite = true;
};

namespace detail {

/// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
/// p -= lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps), where t counts the updates of p.
class AdamBase : public Optimizer {
 protected:
  AdamBase(std::string_view name,
           std::vector<Parameter> parameters,
           const Common& common,
           const kernels::AdamStep& formula);
  void update(const kernels::Exec& exec,
              std::span<kernels::UpdateItem> items,
              const kernels::GradientScale& scale,
              double lr) override;

 private:
  kernels::AdamStep formula_;
};

}  // namespace detail

/// Adam (Kingma and Ba 2015) as torch.optim.Adam: weight decay is a part of the gradient.
/// Constructors throw ValueError that names the option and its value, or for no, unnamed or
/// repeated parameters. A gradient whose square is beyond f32 skips the update, like an infinity.
class Adam final : public detail::AdamBase {
 public:
  explicit Adam(std::vector<Parameter> parameters, const AdamOptions& options = {});
};

/// AdamW (Loshchilov and Hutter 2019) as torch.optim.AdamW: weight decay acts on the parameter
/// itself.
class AdamW final : public detail::AdamBase {
 public:
  explicit AdamW(std::vector<Parameter> parameters, const AdamWOptions& options = {});
};

}  // namespace reel::optim
