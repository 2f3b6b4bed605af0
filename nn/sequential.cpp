#include "reel/nn/sequential.h"

#include "reel/autograd/apply.h"

namespace reel::nn {

Tensor Sequential::forward(const Tensor& x) const {
  const auto layers = layers_;  // alive until the call ends, whatever a layer does
  Tensor y = x;
  for (const Entry& layer : *layers) {
    if (layer.module) {
      y = layer.call(y);
    } else {
      const Scope scope(layer.name);
      y = layer.call(y);
    }
  }
  return y;
}

}  // namespace reel::nn
