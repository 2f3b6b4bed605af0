#pragma once
// Learning rates over time: factors of the base rate, as functions of the number of updates applied
// before.
#include <memory>

#include "reel/core/parameter.h"
#include "reel/optim/optimizer.h"

namespace reel::optim {

Schedule constant(double factor = 1);
/// start + (1 - start) k / steps, then 1.
Schedule linear_warmup(std::int64_t steps, double start = 0);
/// floor + (1 - floor) (1 + cos(pi k / steps)) / 2, then floor (Loshchilov and Hutter 2017).
Schedule cosine(std::int64_t steps, double floor = 0);
/// gamma^(k / every), a whole-number division.
Schedule step_decay(std::int64_t every, double gamma = 0.1);

struct OneCycleOptions {
  double warmup = 0.3;      ///< fraction of the steps on the way up
  double start = 1.0 / 25;  ///< factor at the first step
  double end = 4e-6;        ///< factor at the last step
};
/// From start up to 1 and down to end, both by half a cosine (Smith and Topin 2018); as torch's
/// OneCycleLR with the base rate as max_lr.
Schedule one_cycle(std::int64_t steps, const OneCycleOptions& options = {});

/// The product: a warm-up times anything.
Schedule product(Schedule a, Schedule b);
/// `a` for its first `steps` updates, then `b`, which counts from 0 again.
Schedule sequence(Schedule a, std::int64_t steps, Schedule b);

struct PlateauOptions {
  double factor = 0.1;
  std::int64_t patience = 10;  ///< reports without improvement that are borne
  double threshold = 1e-4;     ///< an improvement is larger than this fraction of the best value
  std::int64_t cooldown = 0;   ///< reports after a cut during which bad ones do not count
  double floor = 0;            ///< the factor stays at or above it
};
/// Cuts the rate when a reported metric, such as the validation loss, no longer falls. A handle:
/// copies share what was reported, so one copy can be the optimizer's schedule.
class Plateau {
 public:
  explicit Plateau(const PlateauOptions& options = {});  ///< ValueError names the option and its value
  /// Throws nothing; NaN counts as no improvement.
  void report(double metric) const;
  double operator()(std::int64_t) const;  ///< the factor now
  State state() const;                    ///< "plateau": best, factor, bad reports, cooldown left
  void load_state(const State& state) const;

 private:
  struct Now;
  PlateauOptions options_;
  std::shared_ptr<Now> now_;
};

}  // namespace reel::optim
