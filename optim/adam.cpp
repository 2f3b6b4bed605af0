#include "reel/optim/adam.h"

#include <array>
#include <cmath>

namespace reel::optim {
namespace {
constexpr std::array<std::string_view, 2> kMoments{"exp_avg", "exp_avg_sq"};
constexpr double kLargest = 0x1.fffffep+63;  // its square is the largest f32
}  // namespace

detail::AdamBase::AdamBase(std::string_view name,
                           std::vector<Parameter> parameters,
                           const Common& common,
                           const kernels::AdamStep& f)
    : Optimizer(name, std::move(parameters), common, kMoments, kLargest), formula_(f) {
  require(f.beta1 >= 0 && f.beta1 < 1, "beta1", f.beta1, "from 0 to below 1");
  require(f.beta2 >= 0 && f.beta2 < 1, "beta2", f.beta2, "from 0 to below 1");
  require(f.eps > 0, "eps", f.eps, "above 0");
  require(f.weight_decay >= 0, "weight_decay", f.weight_decay, "not negative");
}

void detail::AdamBase::update(const kernels::Exec& exec,
                              std::span<kernels::UpdateItem> items,
                              const kernels::GradientScale& scale,
                              double lr) {
  std::int64_t t = 0;
  double c1 = 1, c2 = 1;
  for (kernels::UpdateItem& item : items) {
    if (!item.grad) continue;
    if (item.step != t) {  // nearly always all parameters have had the same number of updates
      t = item.step;
      c1 = 1 - std::pow(formula_.beta1, static_cast<double>(t));
      c2 = 1 - std::pow(formula_.beta2, static_cast<double>(t));
    }
    item.correction1 = c1;
    item.correction2 = c2;
  }
  kernels::AdamStep now = formula_;
  now.lr = lr;
  kernels::adam(exec, items, scale, now);
}

Adam::Adam(std::vector<Parameter> parameters, const AdamOptions& o)
    : AdamBase("Adam", std::move(parameters), common_of(o), {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, false}) {}

AdamW::AdamW(std::vector<Parameter> parameters, const AdamWOptions& o)
    : AdamBase("AdamW", std::move(parameters), common_of(o), {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, true}) {}

}  // namespace reel::optim
