#include "reel/optim/optimizer.h"

#include <cmath>
#include <unordered_set>

#include "reel/core/log.h"
#include "reel/kernels/pointwise.h"

namespace reel::optim {

std::string_view name_of(Step s) {
  constexpr std::string_view names[] = {"applied", "skipped", "empty"};
  return names[static_cast<int>(s)];
}

Optimizer::Optimizer(std::string_view name,
                     std::vector<Parameter> parameters,
                     const Common& common,
                     std::span<const std::string_view> moments,
                     double largest)
    : name_(name), parameters_(std::move(parameters)), common_(common), moments_(moments), largest_(largest) {
  require(common.lr >= 0, "lr", common.lr, "not negative");
  require(common.accumulate >= 1, "accumulate", static_cast<double>(common.accumulate), "at least 1");
  if (common.clip_norm) require(*common.clip_norm > 0, "clip_norm", *common.clip_norm, "above 0");
  if (common.clip_value) require(*common.clip_value > 0, "clip_value", *common.clip_value, "above 0");
  check<ValueError>(!(common.clip_norm && common.clip_value), name_, ": clip_norm ", common.clip_norm.value_or(0),
                    " and clip_value ", common.clip_value.value_or(0), " exclude each other. Choose one");
  check<ValueError>(!parameters_.empty(), name_,
                    ": there are no parameters. Pass model.parameters(), and register "
                    "every layer with child() and every weight with parameter()");
  std::unordered_set<std::string_view> names;
  std::unordered_set<std::uint64_t> ids;
  slots_.resize(parameters_.size());
  items_.resize(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [n, t] = parameters_[i];
    check<ValueError>(static_cast<bool>(t) && !n.empty(), name_, ": parameter ", i, " \"", n, "\" ",
                      t ? "has no name" : "is an empty tensor");
    check<ValueError>(names.insert(n).second, name_, ": two parameters are named ", n);
    check<ValueError>(ids.insert(t.id()).second, name_, ": parameter ", n,
                      " is the same tensor as an earlier one. List a shared weight once");
    check<DTypeError>(is_floating(t.dtype()), name_, ": parameter ", n, " is ", reel::name_of(t.dtype()),
                      ", but only floating dtypes can be trained");
    check<ValueError>(t.layout() != Layout::strided, name_, ": parameter ", n, " ", t.shape(), " with strides ",
                      t.strides(), " is a view with gaps. Pass the whole tensor");
    check<DeviceError>(t.device() == parameters_[0].tensor.device(), name_,
                       ": parameters live on different devices: ", parameters_[0].name, " ",
                       parameters_[0].tensor.device(), ", ", n, " ", t.device());
    slots_[i].dtype = t.dtype();
  }
  count_ = Tensor::zeros({}, DType::f64, parameters_[0].tensor.device());
}

void Optimizer::require(bool ok, const char* what, double value, const char* domain) const {
  check<ValueError>(ok && std::isfinite(value), name_, ": ", what, " must be ", domain, ", but is ", value);
}

void Optimizer::set_lr(double base) {
  require(base >= 0, "lr", base, "not negative");
  common_.lr = base;
}

kernels::Exec Optimizer::exec() const {
  return {count_.device(), Stream{count_.device()}};
}

MicroBatch Optimizer::next(bool closes) {
  check<StateError>(!complete(), name_, ": next: the window's ", taken_, " of ", common_.accumulate,
                    " micro-batches have been taken. Call step(), or discard() to forget them");
  ++taken_;
  closed_ = closes;
  return {*this, ++serial_, taken_ - 1, common_.accumulate, complete()};
}

Step Optimizer::step(double loss_scale) {
  check<StateError>(taken_ > 0, name_,
                    ": step: no micro-batch of the window has begun. Call next() before each "
                    "backward pass");
  check<StateError>(complete(), name_, ": step: this is micro-batch ", taken_, " of ", common_.accumulate,
                    ". Take the others with next(), or call flush() to update with these");
  return apply(loss_scale);
}

Step Optimizer::flush(double loss_scale) {
  return taken_ == 0 ? Step::empty : apply(loss_scale);
}

Step Optimizer::end_epoch(double loss_scale) {
  if (common_.tail == Tail::flush) return flush(loss_scale);
  if (common_.tail == Tail::drop) discard();
  return Step::empty;
}

void Optimizer::begin_window() {
  kernels::clear_count(exec(), count_.data<double>());
  taken_ = 0;
  closed_ = added_ = false;
  ++serial_;  // handles of the old window are refused
}

void Optimizer::discard() {
  for (const Parameter& p : parameters_) p.tensor.set_grad({});
  begin_window();
}

Step Optimizer::apply(double loss_scale) {
  require(loss_scale > 0, "loss_scale", loss_scale, "above 0");
  const double rate = lr();
  require(rate >= 0, "the schedule's lr", rate, "not negative");
  const double count = *count_.data<double>();
  if (count == 0) {
    for (const Parameter& p : parameters_)
      check<StateError>(added_ || !p.tensor.grad(), name_, ": step: parameter ", p.name,
                        " has a gradient, but no loss was added to the window. Write "
                        "tape.backward(micro.add(loss))");
    discard();
    return Step::empty;
  }
  gather();
  const auto scale = scale_of(count, loss_scale);
  if (!scale) {
    converted_.clear();
    discard();
    return Step::skipped;
  }
  prepare_state();
  update(exec(), items_, *scale, rate);
  commit();
  return Step::applied;
}

/// Points the items at parameters and gradients. A gradient of another dtype or order is converted.
void Optimizer::gather() {
  converted_.clear();
  missing_ = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const TensorImpl& p = *parameters_[i].tensor.impl();
    const Slot& slot = slots_[i];
    kernels::UpdateItem& item = items_[i];
    check<StateError>(p.meta.dtype == slot.dtype && p.meta.layout != Layout::strided, name_, ": parameter ",
                      parameters_[i].name, " is ", reel::name_of(p.meta.dtype), " ", p.strides, ", but was ",
                      reel::name_of(slot.dtype), " when the optimizer was made. Convert the model first");
    item.numel = p.meta.numel;
    item.dtype = math_dtype(slot);
    item.value = parameters_[i].tensor.raw();
    item.half = nullptr;
    item.grad = nullptr;
    if (!p.grad) {
      missing_ += p.requires_grad;
      continue;
    }
    const Tensor* g = &p.grad;
    if (g->dtype() != item.dtype || g->layout() != p.meta.layout) {
      converted_.push_back(Tensor::empty(Meta(p.meta.shape, item.dtype, p.meta.layout, p.meta.device)));
      kernels::copy(exec(), *g, converted_.back());
      g = &converted_.back();
    }
    item.grad = g->raw();
  }
}

/// Empty where the update must be skipped.
std::optional<kernels::GradientScale> Optimizer::scale_of(double count, double loss_scale) {
  kernels::GradientScale scale;
  scale.divisor = count * loss_scale;
  scale.limit = common_.clip_value.value_or(scale.limit);
  norm_ = std::numeric_limits<double>::quiet_NaN();
  if (!(scale.divisor > 0) || !std::isfinite(scale.divisor)) return {};
  if (!common_.check_finite && !common_.clip_norm) return scale;

  norm_ = kernels::gradient_norm(exec(), items_, parts_) / scale.divisor;
  if (!std::isfinite(norm_)) return {};
  double applied = norm_;  // a bound of every number of the gradient that is applied
  if (common_.clip_norm && norm_ > *common_.clip_norm) {
    scale.coefficient = *common_.clip_norm / norm_;
    applied = *common_.clip_norm;
  } else if (common_.clip_value) {
    applied = std::min(norm_, *common_.clip_value);
  }
  bool single = false;
  for (const kernels::UpdateItem& item : items_) single |= item.grad && item.dtype == DType::f32;
  if (single && (norm_ > std::numeric_limits<float>::max() || applied > largest_)) return {};
  return scale;
}

Tensor Optimizer::zeros_like(const Tensor& t, DType dtype) {
  Tensor z = Tensor::empty(Meta(t.shape(), dtype, t.layout(), t.device()));
  kernels::fill({t.device(), Stream{t.device()}}, z, 0);
  return z;
}

/// Makes what the first update of a parameter needs, and points the items to it. Everything that
/// can fail comes before the first change of a number.
void Optimizer::prepare_state() {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    kernels::UpdateItem& item = items_[i];
    if (!item.grad) continue;
    const Tensor& p = parameters_[i].tensor;
    Slot& slot = slots_[i];
    for (std::size_t m = 0; m < moments_.size(); ++m) {
      if (!slot.moment[m]) slot.moment[m] = zeros_like(p, item.dtype);
      (m == 0 ? item.first : item.second) = slot.moment[m].raw();
    }
    item.step = slot.steps + 1;
    if (!is_half(slot.dtype)) continue;
    item.half = p.raw();
    item.half_dtype = slot.dtype;
    if (!slot.master) {
      Tensor master = Tensor::empty(Meta(p.shape(), DType::f32, p.layout(), p.device()));
      kernels::copy(exec(), p, master);
      slot.master = std::move(master);
      slot.version = p.version();
    }
    item.value = slot.master.raw();
    if (slot.version != p.version()) kernels::refresh(exec(), item);  // somebody wrote to the parameter
  }
}

void Optimizer::commit() {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!items_[i].grad) continue;
    const Tensor& p = parameters_[i].tensor;
    ++slots_[i].steps;
    p.bump_version();
    slots_[i].version = p.version();
    p.impl()->grad = {};
  }
  converted_.clear();
  ++applied_;
  begin_window();
  if (missing_ > 0 && !warned_) [[unlikely]] {
    warned_ = true;
    log_warning(name_, ": ", missing_, " of ", items_.size(),
                " parameters got no gradient and were left as they are. This is said once");
  }
}

}  // namespace reel::optim
