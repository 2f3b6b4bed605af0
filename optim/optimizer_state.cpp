// What an optimizer remembers, by name, and back.
#include <set>

#include "reel/kernels/pointwise.h"
#include "reel/optim/optimizer.h"

namespace reel::optim {
namespace {

std::string key(std::string_view kind, const std::string& name) {
  return std::string(kind).append(".").append(name);
}

/// Takes entries out of a state and notes everything that is wrong with it.
class Reader {
 public:
  explicit Reader(const State& state) : state_(state) {}

  bool has(const std::string& name) const { return state_.contains(name); }
  /// A copy of the entry, or an empty tensor when it is not as it should be.
  Tensor take(const std::string& name, const Meta& want) {
    const auto it = state_.find(name);
    used_.insert(name);
    if (it == state_.end() || !it->second) {
      note(missing_, name);
      return {};
    }
    const Tensor& t = it->second;
    if (t.shape() != want.shape || t.dtype() != want.dtype) {
      std::ostringstream text;
      text << name << " is " << t.shape() << ' ' << reel::name_of(t.dtype()) << ", not " << want.shape << ' '
           << reel::name_of(want.dtype);
      note(wrong_, text.str());
      return {};
    }
    Tensor copy = Tensor::empty(want);
    kernels::copy({want.device, Stream{want.device}}, t, copy);
    return copy;
  }
  std::int64_t take_number(const std::string& name) {
    const Tensor t = take(name, Meta({}, DType::i64));
    return t ? *t.data<std::int64_t>() : 0;
  }
  void note_wrong(const std::string& text) { note(wrong_, text); }
  /// Throws unless every entry was taken and was right.
  void finish(const std::string& who) {
    std::string unexpected;
    for (const auto& [name, t] : state_)
      if (!used_.contains(name)) note(unexpected, name);
    std::string text;
    const auto say = [&](const char* what, const std::string& list) {
      if (!list.empty()) text.append(text.empty() ? "" : "; ").append(what).append(list);
    };
    say("missing: ", missing_);
    say("unexpected: ", unexpected);
    say("wrong: ", wrong_);
    check<ValueError>(text.empty(), who, ": load_state: the state does not fit. ", text, ". Nothing was loaded");
  }

 private:
  static void note(std::string& list, const std::string& item) { list.append(list.empty() ? "" : ", ").append(item); }
  const State& state_;
  std::set<std::string> used_;
  std::string missing_, wrong_;
};

}  // namespace

State Optimizer::state() const {
  State s;
  s["applied"] = Tensor::from({}, std::vector<std::int64_t>{applied_});
  s["window"] = Tensor::from({3}, std::vector<std::int64_t>{taken_, common_.accumulate, closed_});
  s["window.count"] = Tensor::scalar(count_.item(), DType::f64);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const auto& [name, t] = parameters_[i];
    if (const Tensor g = t.grad()) s[key("window.grad", name)] = g;
    const Slot& slot = slots_[i];
    if (slot.steps == 0) continue;
    s[key("step", name)] = Tensor::from({}, std::vector<std::int64_t>{slot.steps});
    for (std::size_t m = 0; m < moments_.size(); ++m) s[key(moments_[m], name)] = slot.moment[m];
    if (slot.master) s[key("master", name)] = slot.master;
  }
  return s;
}

void Optimizer::load_state(const State& state) {
  Reader reader(state);
  const std::int64_t applied = reader.take_number("applied");
  const Tensor window = reader.take("window", Meta({3}, DType::i64));
  const Tensor count = reader.take("window.count", Meta({}, DType::f64, Layout::row_major, count_.device()));
  const std::int64_t taken = window ? window.data<std::int64_t>()[0] : 0,
                     size = window ? window.data<std::int64_t>()[1] : 0;
  if (taken > 0 && size != common_.accumulate) {
    std::ostringstream text;
    text << "the saved window has micro-batch " << taken << " of " << size << ", but accumulate is "
         << common_.accumulate;
    reader.note_wrong(text.str());
  }
  if (applied < 0 || taken < 0 || taken > std::max(size, std::int64_t{0}))
    reader.note_wrong("counters are out of range");

  std::vector<Slot> slots(slots_.size());
  std::vector<Tensor> grads(slots_.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto& [name, t] = parameters_[i];
    Slot& slot = slots[i];
    slot.dtype = slots_[i].dtype;
    const Meta numbers(t.shape(), math_dtype(slot), t.layout(), t.device());
    if (const auto g = state.find(key("window.grad", name)); g != state.end())
      grads[i] =
          reader.take(g->first, Meta(t.shape(), g->second ? g->second.dtype() : DType::f32, t.layout(), t.device()));
    bool any = reader.has(key("step", name)) || reader.has(key("master", name));
    for (const std::string_view m : moments_) any |= reader.has(key(m, name));
    if (!any) continue;  // never updated
    slot.steps = reader.take_number(key("step", name));
    for (std::size_t m = 0; m < moments_.size(); ++m) slot.moment[m] = reader.take(key(moments_[m], name), numbers);
    if (is_half(slot.dtype)) {
      slot.master = reader.take(key("master", name), numbers);
      slot.version = t.version() - 1;  // to be compared with the parameter before it is used
    }
  }
  reader.finish(name_);

  slots_ = std::move(slots);
  for (std::size_t i = 0; i < grads.size(); ++i) parameters_[i].tensor.set_grad(grads[i]);
  applied_ = applied;
  begin_window();
  kernels::copy(exec(), count, count_);
  taken_ = taken;
  added_ = taken > 0;
  closed_ = window.data<std::int64_t>()[2] != 0;
}

}  // namespace reel::optim
