#include "reel/nn/module.h"

#include <algorithm>
#include <unordered_set>

#include "reel/autograd/ops.h"
#include "reel/autograd/tape.h"
#include "reel/kernels/pointwise.h"

namespace reel::nn {
namespace {

void copy_numbers(const Tensor& from, const Tensor& to) {
  kernels::copy({to.device(), Stream{to.device()}}, from, to);
}

std::string dotted(const std::string& prefix, const std::string& name) {
  std::string s = prefix;
  return s.append(prefix.empty() ? "" : ".").append(name);
}

void note(std::string& list, const std::string& item) {
  list.append(list.empty() ? "" : ", ").append(item);
}

}  // namespace

Module::Module(std::string type, std::optional<Random> random) : impl_(std::make_shared<Impl>()) {
  impl_->type = std::move(type);
  impl_->random = std::move(random);
}

Tensor Module::operator()(const Tensor& x) const {
  if (impl_->name.empty()) return forward(x);
  const Scope scope(impl_->name);
  return forward(x);
}

void Module::require_free(const char* what, const std::string& name) const {
  check<ValueError>(!name.empty() && name.find('.') == std::string::npos, impl_->type, ": ", what, ": the name \"",
                    name, "\" must not be empty or hold a dot");
  const auto named = [&](const auto& list) {
    return std::ranges::any_of(list, [&](const auto& x) {
      const auto& [n, rest] = x;
      return n == name;
    });
  };
  check<ValueError>(!named(impl_->parameters) && !named(impl_->buffers) && !named(impl_->children), impl_->type, ": ",
                    what, ": the name ", name, " is taken. Give another one");
}

Tensor Module::parameter(const std::string& name, const Tensor& t) {
  require_free("parameter", name);
  check<ValueError>(static_cast<bool>(t), impl_->type, ": parameter: ", name, " is an empty tensor");
  t.set_requires_grad();
  impl_->parameters.push_back({name, t});
  return t;
}

Tensor Module::buffer(const std::string& name, const Tensor& t) {
  require_free("buffer", name);
  check<ValueError>(static_cast<bool>(t), impl_->type, ": buffer: ", name, " is an empty tensor");
  impl_->buffers.push_back({name, t});
  return t;
}

void Module::add_child(const std::string& name, const Module& module) {
  require_free("child", name);
  const auto contains = [this](const auto& self, const Impl* at) -> bool {
    return at == impl_.get() ||
           std::ranges::any_of(at->children, [&](const auto& c) { return self(self, c.second.get()); });
  };
  check<ValueError>(!contains(contains, module.impl_.get()), impl_->type, ": child: ", name,
                    " contains this module already. A module cannot be inside itself");
  module.impl_->name = name;
  impl_->children.emplace_back(name, module.impl_);
}

/// fn(module, dotted name) for the module and all below it.
template <class Fn>
void Module::walk(const std::shared_ptr<Impl>& impl, const std::string& prefix, const Fn& fn) {
  fn(impl, prefix);
  for (const auto& [name, c] : impl->children) walk(c, dotted(prefix, name), fn);
}

namespace {

/// Appends `list` under the prefix, less the tensors that were listed before.
void append(std::vector<Parameter>& all,
            std::unordered_set<std::uint64_t>& seen,
            const std::string& prefix,
            const std::vector<Parameter>& list) {
  for (const auto& [name, t] : list)
    if (seen.insert(t.id()).second) all.push_back({dotted(prefix, name), t});
}

}  // namespace

std::vector<Parameter> Module::named_parameters() const {
  std::vector<Parameter> all;
  std::unordered_set<std::uint64_t> seen;
  walk(impl_, "", [&](const auto& m, const std::string& prefix) { append(all, seen, prefix, m->parameters); });
  return all;
}

std::vector<Parameter> Module::named_buffers() const {
  std::vector<Parameter> all;
  std::unordered_set<std::uint64_t> seen;
  walk(impl_, "", [&](const auto& m, const std::string& prefix) { append(all, seen, prefix, m->buffers); });
  return all;
}

State Module::state() const {
  State s;
  for (const auto& [name, t] : named_parameters()) s[name] = t;
  for (const auto& [name, t] : named_buffers()) s[name] = t;
  return s;
}

LoadReport Module::load_state(const State& from, bool strict) const {
  LoadReport report;
  const State mine = state();
  std::string missing, unexpected, shapes;
  for (const auto& [name, t] : mine) {
    const auto it = from.find(name);
    if (it == from.end() || !it->second) {
      report.missing.push_back(name);
      note(missing, name);
    } else if (it->second.shape() != t.shape()) {
      note(shapes, name + " is " + to_string(it->second.shape()) + ", not " + to_string(t.shape()));
    }
  }
  for (const auto& [name, t] : from) {
    if (mine.contains(name)) continue;
    report.unexpected.push_back(name);
    note(unexpected, name);
  }
  std::string text;
  const auto say = [&](const char* what, const std::string& list) {
    if (!list.empty()) text.append(text.empty() ? "" : "; ").append(what).append(list);
  };
  if (strict) say("missing: ", missing);
  if (strict) say("unexpected: ", unexpected);
  say("mis-shaped: ", shapes);
  check<ValueError>(text.empty(), impl_->type, ": load_state: the state does not fit. ", text, ". Nothing was loaded");
  for (const auto& [name, t] : mine) {
    const auto it = from.find(name);
    if (it == from.end() || !it->second) continue;
    copy_numbers(it->second, t);
    t.bump_version();
  }
  return report;
}

void Module::train(bool on) const {
  walk(impl_, "", [on](const auto& m, const std::string&) { m->training = on; });
}

Module::EvalMode::EvalMode(const Module& module) {
  walk(module.impl_, "", [this](const auto& m, const std::string&) { before_.emplace_back(m, m->training); });
  module.eval();
}
Module::EvalMode::~EvalMode() {
  for (const auto& [m, training] : before_) m->training = training;
}

/// Makes every parameter and buffer t show the numbers of fn(t), or keeps it where fn gives an
/// empty tensor.
template <class Fn>
void Module::replace_all(const char* what, const Fn& fn) const {
  check<StateError>(!Tape::current(), impl_->type, ": ", what,
                    ": a tape is live and may have saved the old numbers. Convert before the tape begins");
  std::vector<std::pair<Tensor, Tensor>> changes;  // all made before the first one is shown
  for (const auto& list : {named_parameters(), named_buffers()})
    for (const auto& [name, t] : list)
      if (Tensor other = fn(t)) changes.emplace_back(t, std::move(other));
  for (const auto& [t, other] : changes) {
    t.set_grad({});
    t.adopt(other);
  }
}

void Module::to(DType dtype) const {
  check<DTypeError>(is_floating(dtype), impl_->type, ": to: parameters need a floating dtype, but ", name_of(dtype),
                    " was asked for");
  replace_all("to", [dtype](const Tensor& t) {
    if (!is_floating(t.dtype()) || t.dtype() == dtype) return Tensor{};
    Tensor other = Tensor::empty(Meta(t.shape(), dtype, Layout::row_major, t.device()));
    copy_numbers(t, other);
    return other;
  });
}

void Module::to(Device device) const {
  require_usable(device);
  replace_all("to", [device](const Tensor& t) {
    if (t.device() == device) return Tensor{};
    Tensor other = Tensor::empty(Meta(t.shape(), t.dtype(), Layout::row_major, device));
    copy_numbers(t, other);
    return other;
  });
}

void Module::zero_grad() const {
  for (const Parameter& p : named_parameters()) p.tensor.set_grad({});
}

void Module::requires_grad(bool on) const {
  for (const Parameter& p : named_parameters()) p.tensor.set_requires_grad(on);
}

std::vector<Random> Module::randoms() const {
  std::vector<Random> all;
  walk(impl_, "", [&](const auto& m, const std::string&) {
    if (m->random && std::ranges::find(all, *m->random) == all.end()) all.push_back(*m->random);
  });
  return all;
}

Random Module::random() const {
  const std::vector<Random> all = randoms();
  check<StateError>(all.size() == 1, impl_->type, ": random: the module has ", all.size(),
                    " streams of random numbers, not 1. ",
                    all.empty() ? "No layer draws any" : "Ask randoms() for all");
  return all[0];
}

std::vector<Module::Info> Module::named_modules() const {
  std::vector<Info> all;
  walk(impl_, "", [&](const auto& m, const std::string& prefix) {
    all.push_back({prefix, m->type, m->parameters, m->children.empty()});
  });
  return all;
}

}  // namespace reel::nn
