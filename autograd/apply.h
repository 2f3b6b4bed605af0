#pragma once
// The one path that every forward and backward computation takes, and the hooks on it.
#include <concepts>
#include <initializer_list>
#include <string>

#include "reel/autograd/op.h"
#include "reel/autograd/op_list.h"

namespace reel {

class Tape;

/// Sees the inputs of every op before it runs and may replace them. Autocast is one.
class InputRule {
 public:
  virtual ~InputRule() = default;
  /// `in` holds the inputs; to replace input i, put a tensor into `owned[i]` and point `in[i]` to it.
  virtual void adjust(const Op& op, std::span<const Tensor*> in, std::span<Tensor> owned) = 0;
};

/// Is told of every op. The profiler is one.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void before(const Op& op, Inputs in) = 0;
  virtual void after(const Op& op, Inputs in, const Outputs& out) = 0;
};

/// What is switched on for the current thread.
struct Hooks {
  Tape* tape = nullptr;
  InputRule* rule = nullptr;
  Observer* observer = nullptr;
  bool anomaly = false;
  static Hooks& current() {
    thread_local Hooks hooks;
    return hooks;
  }
};

/// Sets one member of the thread's hooks until the brace closes.
template <auto Member>
class HookScope {
 public:
  using Value = std::remove_reference_t<decltype(std::declval<Hooks&>().*Member)>;
  explicit HookScope(Value v) : outer_(std::exchange(Hooks::current().*Member, v)) {}
  ~HookScope() { Hooks::current().*Member = outer_; }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;

 private:
  Value outer_;
};

/// Ops inside the brace are not recorded.
class NoGrad : HookScope<&Hooks::tape> {
 public:
  NoGrad() : HookScope(nullptr) {}
};

/// Checks every op of this thread: an op that makes a non-finite value from finite inputs throws a
/// GradError that names the op, its scope, the element, and whether it ran forward or backward.
class AnomalyMode : HookScope<&Hooks::anomaly> {
 public:
  AnomalyMode() : HookScope(true) {}
};

/// Names the part of the program that runs, for error messages and the profiler: "block1/attention".
/// `name` must live as long as the scope.
class Scope {
 public:
  explicit Scope(std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  static std::string path();
};

namespace detail {
void run(const Op& op, Inputs in, Outputs& out);
}

/// An argument of `apply`: refers to a tensor without owning it.
struct In {
  In(const Tensor& t) : tensor(&t) {}  // NOLINT(google-explicit-constructor)
  const Tensor* tensor;
};

/// Runs an op and returns all of its outputs.
template <std::derived_from<Op> T>
Outputs apply_all(const T& op, std::span<const Tensor* const> in) {
  static_assert(listed<T> || std::derived_from<T, CustomOp>,
                "add this op to AllOps in autograd/op_list.h, so that tests, docs and benchmarks see it");
  Outputs out;
  detail::run(op, Inputs(in.data(), static_cast<int>(in.size())), out);
  return out;
}
template <std::derived_from<Op> T>
Outputs apply_all(const T& op, std::initializer_list<In> in) {
  static_assert(sizeof(In) == sizeof(const Tensor*));
  return apply_all(op, std::span(&in.begin()->tensor, in.size()));
}
/// Runs an op and returns its first output.
template <std::derived_from<Op> T>
Tensor apply(const T& op, std::initializer_list<In> in) {
  return std::move(apply_all(op, in).t[0]);
}

}  // namespace reel
