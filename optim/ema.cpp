#include "reel/optim/ema.h"

#include "reel/kernels/pointwise.h"

namespace reel::optim {
namespace {

Tensor converted(const Tensor& t, DType dtype) {
  Tensor copy = Tensor::empty(Meta(t.shape(), dtype, t.layout(), t.device()));
  kernels::copy({t.device(), Stream{t.device()}}, t, copy);
  return copy;
}
DType math_dtype(const Tensor& t) {
  return t.dtype() == DType::f64 ? DType::f64 : DType::f32;
}

}  // namespace

Ema::Ema(std::vector<Parameter> parameters, const EmaOptions& options)
    : parameters_(std::move(parameters)), options_(options), items_(parameters_.size()) {
  check<ValueError>(options.decay >= 0 && options.decay < 1, "Ema: decay must be from 0 to below 1, but is ",
                    options.decay);
  check<ValueError>(!parameters_.empty(), "Ema: there are no parameters. Pass model.parameters()");
  for (const auto& [name, t] : parameters_) {
    check<ValueError>(is_floating(t.dtype()) && t.layout() != Layout::strided, "Ema: parameter ", name, " ", t.shape(),
                      " ", name_of(t.dtype()), " must be floating and without gaps");
    mean_.push_back(converted(t, math_dtype(t)));
  }
}
Ema::~Ema() = default;

kernels::Exec Ema::exec() const {
  return {mean_[0].device(), Stream{mean_[0].device()}};
}

void Ema::update(Step step) {
  check<StateError>(trained_.empty(), "Ema: update: the averages stand in for the weights. End the Evaluation first");
  if (step != Step::applied) return;
  const double k = static_cast<double>(updates_ + 1);
  const double decay = options_.warmup ? std::min(options_.decay, k / (k + 9)) : options_.decay;
  std::vector<Tensor> wide;  // half weights in f32
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Tensor& p = parameters_[i].tensor;
    std::byte* value = p.raw();
    if (is_half(p.dtype())) value = wide.emplace_back(converted(p, DType::f32)).raw();
    items_[i].value = value;
    items_[i].grad = value;  // present
    items_[i].first = mean_[i].raw();
    items_[i].numel = p.numel();
    items_[i].dtype = math_dtype(p);
  }
  kernels::average(exec(), items_, decay);
  ++updates_;
}

void Ema::swap_in() {
  check<StateError>(trained_.empty(), "Ema: the averages stand in for the weights already");
  std::vector<Tensor> trained;
  for (const Parameter& p : parameters_) trained.push_back(converted(p.tensor, p.tensor.dtype()));
  trained_ = std::move(trained);
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    kernels::copy(exec(), mean_[i], parameters_[i].tensor);
    parameters_[i].tensor.bump_version();
  }
}

void Ema::swap_out() noexcept {
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    kernels::copy(exec(), trained_[i], parameters_[i].tensor);
    parameters_[i].tensor.bump_version();
  }
  trained_.clear();
}

State Ema::state() const {
  State s;
  s["updates"] = Tensor::from({}, std::vector<std::int64_t>{updates_});
  for (std::size_t i = 0; i < mean_.size(); ++i) s["ema." + parameters_[i].name] = mean_[i];
  return s;
}

void Ema::load_state(const State& state) {
  const auto get = [&](const std::string& name, const Shape& shape, DType dtype) {
    const auto it = state.find(name);
    check<ValueError>(it != state.end() && it->second && it->second.shape() == shape && it->second.dtype() == dtype,
                      "Ema: load_state: needs ", name, " ", shape, " ", name_of(dtype), ", but the state ",
                      it == state.end() || !it->second ? "has none" : "has another shape or dtype",
                      ". Nothing was loaded");
    return it->second;
  };
  check<ValueError>(state.size() == mean_.size() + 1, "Ema: load_state: the state has ", state.size(), " entries, but ",
                    mean_.size() + 1, " are needed. Nothing was loaded");
  const Tensor updates = get("updates", {}, DType::i64);
  std::vector<Tensor> mean;
  for (const auto& [name, t] : parameters_) {
    Tensor copy = converted(t, math_dtype(t));
    kernels::copy(exec(), get("ema." + name, t.shape(), math_dtype(t)), copy);
    mean.push_back(std::move(copy));
  }
  mean_ = std::move(mean);
  updates_ = *updates.data<std::int64_t>();
}

}  // namespace reel::optim
