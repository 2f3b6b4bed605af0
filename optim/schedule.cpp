#include "reel/optim/schedule.h"

#include <cmath>
#include <numbers>

namespace reel::optim {
namespace {

void require(bool ok, const char* who, const char* what, double value, const char* domain) {
  check<ValueError>(ok && std::isfinite(value), who, ": ", what, " must be ", domain, ", but is ", value);
}
void require_steps(const char* who, std::int64_t steps) {
  require(steps >= 1, who, "steps", static_cast<double>(steps), "at least 1");
}

/// From a at t = 0 to b at t = 1, along half a cosine.
double half_cosine(double a, double b, double t) {
  return b + (a - b) * (1 + std::cos(std::numbers::pi * t)) / 2;
}

}  // namespace

Schedule constant(double factor) {
  require(factor >= 0, "constant", "factor", factor, "not negative");
  return [=](std::int64_t) { return factor; };
}

Schedule linear_warmup(std::int64_t steps, double start) {
  require_steps("linear_warmup", steps);
  require(start >= 0, "linear_warmup", "start", start, "not negative");
  return [=](std::int64_t k) {
    return k >= steps ? 1.0 : start + (1 - start) * static_cast<double>(k) / static_cast<double>(steps);
  };
}

Schedule cosine(std::int64_t steps, double floor) {
  require_steps("cosine", steps);
  require(floor >= 0, "cosine", "floor", floor, "not negative");
  return [=](std::int64_t k) {
    return k >= steps ? floor : half_cosine(1, floor, static_cast<double>(k) / static_cast<double>(steps));
  };
}

Schedule step_decay(std::int64_t every, double gamma) {
  require(every >= 1, "step_decay", "every", static_cast<double>(every), "at least 1");
  require(gamma >= 0, "step_decay", "gamma", gamma, "not negative");
  return [=](std::int64_t k) { return std::pow(gamma, static_cast<double>(k / every)); };
}

Schedule one_cycle(std::int64_t steps, const OneCycleOptions& o) {
  require_steps("one_cycle", steps);
  require(o.warmup > 0 && o.warmup < 1, "one_cycle", "warmup", o.warmup, "between 0 and 1");
  require(o.start >= 0, "one_cycle", "start", o.start, "not negative");
  require(o.end >= 0, "one_cycle", "end", o.end, "not negative");
  const double last = static_cast<double>(steps) - 1, top = std::max(0.0, o.warmup * static_cast<double>(steps) - 1);
  return [=](std::int64_t step) {
    const double k = std::min(static_cast<double>(step), last);
    if (k < top) return half_cosine(o.start, 1, k / top);
    return last > top ? half_cosine(1, o.end, (k - top) / (last - top)) : 1.0;
  };
}

Schedule product(Schedule a, Schedule b) {
  return [a = std::move(a), b = std::move(b)](std::int64_t k) { return a(k) * b(k); };
}

Schedule sequence(Schedule a, std::int64_t steps, Schedule b) {
  require(steps >= 0, "sequence", "steps", static_cast<double>(steps), "not negative");
  return [a = std::move(a), steps, b = std::move(b)](std::int64_t k) { return k < steps ? a(k) : b(k - steps); };
}

struct Plateau::Now {
  double best = std::numeric_limits<double>::infinity();
  double factor = 1;
  std::int64_t bad = 0, cooldown = 0;
};

Plateau::Plateau(const PlateauOptions& o) : options_(o), now_(std::make_shared<Now>()) {
  require(o.factor > 0 && o.factor < 1, "Plateau", "factor", o.factor, "between 0 and 1");
  require(o.patience >= 0, "Plateau", "patience", static_cast<double>(o.patience), "not negative");
  require(o.threshold >= 0 && o.threshold < 1, "Plateau", "threshold", o.threshold, "from 0 to below 1");
  require(o.cooldown >= 0, "Plateau", "cooldown", static_cast<double>(o.cooldown), "not negative");
  require(o.floor >= 0, "Plateau", "floor", o.floor, "not negative");
}

void Plateau::report(double metric) const {
  Now& n = *now_;
  if (metric < n.best - options_.threshold * std::abs(n.best) || (std::isinf(n.best) && metric < n.best)) {
    n.best = metric;
    n.bad = 0;
  } else {
    ++n.bad;
  }
  if (n.cooldown > 0) {
    --n.cooldown;
    n.bad = 0;
  }
  if (n.bad <= options_.patience) return;
  n.factor = std::max(n.factor * options_.factor, options_.floor);
  n.cooldown = options_.cooldown;
  n.bad = 0;
}

double Plateau::operator()(std::int64_t) const {
  return now_->factor;
}

State Plateau::state() const {
  return {{"plateau", Tensor::from({4}, std::vector<double>{now_->best, now_->factor, static_cast<double>(now_->bad),
                                                            static_cast<double>(now_->cooldown)})}};
}

void Plateau::load_state(const State& state) const {
  const auto it = state.find("plateau");
  check<ValueError>(
      state.size() == 1 && it != state.end() && it->second.shape() == Shape{4} && it->second.dtype() == DType::f64,
      "Plateau: load_state: needs one entry, plateau [4] f64");
  const auto v = it->second.to_vector<double>();
  *now_ = {v[0], v[1], static_cast<std::int64_t>(v[2]), static_cast<std::int64_t>(v[3])};
}

}  // namespace reel::optim
