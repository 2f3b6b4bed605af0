#include "reel/optim/sgd.h"

#include <array>

namespace reel::optim {
namespace {
constexpr std::array<std::string_view, 1> kMoments{"momentum_buffer"};
}

SGD::SGD(std::vector<Parameter> parameters, const SGDOptions& o)
    : Optimizer("SGD",
                std::move(parameters),
                common_of(o),
                std::span(kMoments).first(o.momentum == 0 ? 0 : 1),
                std::numeric_limits<float>::max()),
      options_(o) {
  require(o.momentum >= 0, "momentum", o.momentum, "not negative");
  require(o.dampening >= 0 && o.dampening <= 1, "dampening", o.dampening, "from 0 to 1");
  require(o.weight_decay >= 0, "weight_decay", o.weight_decay, "not negative");
  check<ValueError>(!o.nesterov || (o.momentum > 0 && o.dampening == 0),
                    "SGD: nesterov needs momentum above 0 and no dampening: momentum ", o.momentum, ", dampening ",
                    o.dampening);
}

void SGD::update(const kernels::Exec& exec,
                 std::span<kernels::UpdateItem> items,
                 const kernels::GradientScale& scale,
                 double lr) {
  kernels::sgd(exec, items, scale,
               {lr, options_.momentum, options_.dampening, options_.weight_decay, options_.nesterov});
}

}  // namespace reel::optim
