#pragma once
// What all optimizers share: the accumulation window, clipping, the gate against non-finite
// gradients, and a state that can be saved at any point.
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "reel/core/parameter.h"
#include "reel/kernels/optimizer.h"
#include "reel/optim/micro_batch.h"

namespace reel::optim {

/// What became of an update.
enum class Step : std::uint8_t {
  applied,
  skipped,  ///< a gradient or a count was not finite: nothing but the window was changed
  empty,    ///< the window counted nothing: nothing but the window was changed
};
std::string_view name_of(Step s);

/// What end_epoch() does with a window that is not full.
enum class Tail : std::uint8_t {
  flush,  ///< updates with what there is
  carry,  ///< continues it in the next epoch
  drop,   ///< forgets it
};

/// Factor of the learning rate as a function of the number of updates applied before; see
/// schedule.h.
using Schedule = std::function<double(std::int64_t applied)>;

/// Owns named parameters and everything that is remembered for them. Moments and maths are f32, f64
/// for f64 parameters; half parameters have f32 master numbers, and are written in the same pass.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Begins the next micro-batch. `closes` announces that no data follow: the window is complete
  /// with this micro-batch, however short. Throws StateError when the window is complete already.
  MicroBatch next(bool closes = false);
  /// Updates the parameters with the gradient sums in grad(), each divided by the window's count
  /// and by `loss_scale`, clears them and begins a new window. Parameters without a gradient are
  /// left as they are. Throws StateError unless the window is complete; then, and after any other
  /// error, nothing has changed.
  Step step(double loss_scale = 1);
  /// The same for a window that is not complete; Step::empty when it has not begun.
  Step flush(double loss_scale = 1);
  /// Applies the tail policy; Step::empty unless it updated.
  Step end_epoch(double loss_scale = 1);
  /// Forgets the window: gradients and count.
  void discard();

  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::int64_t taken() const { return taken_; }  ///< micro-batches of this window that have begun
  std::int64_t accumulate() const { return common_.accumulate; }
  const Tensor& window_count() const { return count_; }

  std::int64_t applied() const { return applied_; }  ///< updates so far; skipped and empty ones do not count
  /// The rate of the next update: the base rate times the schedule.
  double lr() const { return common_.lr * (schedule_ ? schedule_(applied_) : 1.0); }
  void set_lr(double base);
  void set_schedule(Schedule schedule) { schedule_ = std::move(schedule); }
  /// Norm of the last window's gradient, divided but not clipped; NaN when it was not needed.
  double gradient_norm() const { return norm_; }
  /// Parameters that got no gradient in the last update.
  std::int64_t without_gradient() const { return missing_; }

  /// Everything that a later step depends on, apart from options, schedule and the parameters:
  /// "applied", "window" (taken, size, closed), "window.count", "window.grad.NAME", and for each
  /// parameter that was ever updated "step.NAME", its moments ("exp_avg.NAME", ...) and
  /// "master.NAME" where it is half. Moments and gradients are the living tensors, not copies.
  State state() const;
  /// Restores it exactly, also in the middle of a window. Throws ValueError that lists every
  /// missing, unexpected and mis-shaped name, and then changes nothing.
  void load_state(const State& state);

 protected:
  struct Common {
    double lr;
    std::int64_t accumulate;
    Tail tail;
    std::optional<double> clip_norm, clip_value;
    bool check_finite;
  };
  /// The shared members of the options of every optimizer.
  template <class O>
  static Common common_of(const O& o) {
    return {o.lr, o.accumulate, o.tail, o.clip_norm, o.clip_value, o.check_finite};
  }
  /// `largest`: the largest gradient of f32 numbers that the formula can take.
  Optimizer(std::string_view name,
            std::vector<Parameter> parameters,
            const Common& common,
            std::span<const std::string_view> moments,
            double largest);

  virtual void update(const kernels::Exec& exec,
                      std::span<kernels::UpdateItem> items,
                      const kernels::GradientScale& scale,
                      double lr) = 0;
  void require(bool ok, const char* what, double value, const char* domain) const;

 private:
  friend class MicroBatch;
  /// What is remembered of one parameter. `tensor` is the one in parameters_.
  struct Slot {
    Tensor master, moment[2];
    std::int64_t steps = 0;
    DType dtype;                ///< of the parameter, when the optimizer was made
    std::uint32_t version = 0;  ///< of the parameter, when its master was last compared with it
  };

  static DType math_dtype(const Slot& s) { return s.dtype == DType::f64 ? DType::f64 : DType::f32; }
  static Tensor zeros_like(const Tensor& t, DType dtype);
  bool complete() const { return closed_ || taken_ == common_.accumulate; }
  kernels::Exec exec() const;
  Step apply(double loss_scale);
  void gather();
  std::optional<kernels::GradientScale> scale_of(double count, double loss_scale);
  void prepare_state();
  void commit();
  void begin_window();

  std::string name_;
  std::vector<Parameter> parameters_;
  std::vector<Slot> slots_;
  Common common_;
  std::span<const std::string_view> moments_;
  double largest_;
  Schedule schedule_;

  Tensor count_;  // f64, on the device
  std::int64_t taken_ = 0, applied_ = 0, missing_ = 0;
  bool closed_ = false, added_ = false, warned_ = false;  // added_: a loss has joined the window
  std::uint64_t serial_ = 0;                              // of the current micro-batch
  double norm_ = std::numeric_limits<double>::quiet_NaN();

  std::vector<kernels::UpdateItem> items_;  // scratch, kept between steps
  std::vector<Tensor> converted_;
  std::vector<double> parts_;
};

}  // namespace reel::optim
