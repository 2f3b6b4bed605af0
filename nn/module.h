#pragma once
// What all layers and models share: named parameters, buffers and children.
#include <optional>

#include "reel/core/parameter.h"
#include "reel/nn/random.h"

namespace reel::nn {

/// What load_state found. Both are empty after a strict load.
struct LoadReport {
  std::vector<std::string> missing, unexpected;
};

/// A handle, like Tensor: a copy is the same module. So a model can be returned by value, stored in
/// a Sequential or captured in a lambda. It cannot be assigned: a weight or layer that an optimizer
/// knows is never silently replaced by another one.
///
///     struct Net : nn::Module {
///       explicit Net(const nn::Random& r)
///           : Module("Net"), fc1(child("fc1", nn::Linear({.in = 784, .out = 64}, r))),
///             fc2(child("fc2", nn::Linear({.in = 64, .out = 10}, r))) {}
///       Tensor forward(const Tensor& x) const override { return fc2(relu(fc1(x))); }
///       nn::Linear fc1, fc2;
///     };
class Module {
  struct Impl;

 public:
  Module(const Module&) = default;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  /// Runs forward(x) in a Scope of the name that the parent gave.
  Tensor operator()(const Tensor& x) const;

  /// Own parameters first, then those of the children, each in the order of registration, with
  /// PyTorch's dotted names. A tensor that is used twice is listed under its first name.
  std::vector<Parameter> named_parameters() const;
  std::vector<Parameter> parameters() const { return named_parameters(); }
  std::vector<Parameter> named_buffers() const;
  /// Parameters and buffers by name: the living tensors, not copies.
  State state() const;
  /// Copies the values in, in place, converting the dtype where it differs. Throws ValueError that
  /// lists every missing, unexpected and mis-shaped name, and then changes nothing. Unless
  /// `strict`, the first two are only reported.
  LoadReport load_state(const State& state, bool strict = true) const;

  void train(bool on = true) const;  ///< for the module and all below it; they start in training
  void eval() const { train(false); }
  bool training() const { return impl_->training; }
  /// Converts floating parameters and buffers; gradients are dropped. Throws DTypeError unless the
  /// dtype is floating, StateError under a live tape, which could have saved the old numbers.
  void to(DType dtype) const;
  /// Moves parameters and buffers; gradients are dropped. Throws DeviceError, StateError under a
  /// live tape.
  void to(Device device) const;
  void zero_grad() const;
  void requires_grad(bool on) const;

  /// The one stream of random numbers of the module and all below it. Throws StateError when it has
  /// none, or several: then ask randoms().
  Random random() const;
  std::vector<Random> randoms() const;  ///< each once, in the order of registration

  const std::string& type() const { return impl_->type; }  ///< "Linear"
  const std::string& name() const { return impl_->name; }  ///< given by the parent; empty for a root
  /// The module, then all below it, with dotted names; the root's name is empty.
  struct Info {
    std::string name, type;
    std::vector<Parameter> parameters;  ///< its own, with short names
    bool leaf;                          ///< has no children
  };
  std::vector<Info> named_modules() const;

  /// Evaluation until the brace closes; then every module is in the mode that it was in before.
  class [[nodiscard]] EvalMode {
   public:
    explicit EvalMode(const Module& module);
    ~EvalMode();
    EvalMode(const EvalMode&) = delete;
    EvalMode& operator=(const EvalMode&) = delete;

   private:
    std::vector<std::pair<std::shared_ptr<Impl>, bool>> before_;
  };

 protected:
  explicit Module(std::string type, std::optional<Random> random = {});

  virtual Tensor forward(const Tensor& x) const = 0;

  /// Registration. Throws ValueError for an empty name, one with a dot, or one that is taken;
  /// DTypeError for a parameter that is not floating. Parameters ask for gradients from here on.
  Tensor parameter(const std::string& name, const Tensor& t);
  Tensor buffer(const std::string& name, const Tensor& t);
  template <class M>
  M child(const std::string& name, M module) {
    add_child(name, module);
    return module;
  }

 private:
  struct Impl {
    std::string type, name;
    std::optional<Random> random;
    std::vector<Parameter> parameters, buffers;
    std::vector<std::pair<std::string, std::shared_ptr<Impl>>> children;
    bool training = true;
  };
  void add_child(const std::string& name, const Module& module);
  void require_free(const char* what, const std::string& name) const;
  template <class Fn>
  static void walk(const std::shared_ptr<Impl>& impl, const std::string& prefix, const Fn& fn);
  template <class Fn>
  void replace_all(const char* what, const Fn& fn) const;

  std::shared_ptr<Impl> impl_;
};

}  // namespace reel::nn
