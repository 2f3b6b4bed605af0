#pragma once
// Layers one after another.
#include <concepts>
#include <functional>

#include "reel/nn/module.h"

namespace reel::nn {

/// Anything that maps a tensor to a tensor.
template <class F>
concept Layer = std::is_invocable_r_v<Tensor, const F&, const Tensor&>;

/// Calls its layers in order. Modules are children, under their names or "0", "1", ...; other
/// callables, such as lambdas, have no parameters, and run in a Scope of their name.
///
///     nn::Sequential model(nn::Linear({.in = 2, .out = 8}, random), nn::Tanh(), nn::Linear({.in =
///     8, .out = 1}, random));
class Sequential : public Module {
 public:
  Sequential() : Module("Sequential"), layers_(std::make_shared<std::vector<Entry>>()) {}
  template <Layer... L>
  requires(sizeof...(L) > 0) explicit Sequential(L... layers) : Sequential() { (add(std::move(layers)), ...); }

  /// Appends a layer; its name is its number. Throws ValueError for a name that is taken.
  template <Layer L>
  Sequential& add(L layer) {
    return add(std::to_string(size()), std::move(layer));
  }
  template <Layer L>
  Sequential& add(const std::string& name, L layer) {
    if constexpr (std::derived_from<L, Module>) {
      child(name, layer);
      layers_->push_back({name, true, std::move(layer)});
    } else {
      layers_->push_back({name, false, std::move(layer)});
    }
    return *this;
  }
  std::size_t size() const { return layers_->size(); }

 protected:
  Tensor forward(const Tensor& x) const override;

 private:
  struct Entry {
    std::string name;
    bool module;  // enters its own Scope
    std::function<Tensor(const Tensor&)> call;
  };
  std::shared_ptr<std::vector<Entry>> layers_;  // shared by the copies of this handle
};

}  // namespace reel::nn
