#pragma once
// A tensor with the name it has in a model, and the names and numbers of a whole state.
#include <map>
#include <string>
#include <vector>

#include "reel/core/tensor.h"

namespace reel {

/// What a module lists and an optimizer changes.
struct Parameter {
  std::string name;  ///< dotted, as in PyTorch: "layer1.0.conv1.weight"
  Tensor tensor;
};

/// Numbers by name, as they go to a file and come back.
using State = std::map<std::string, Tensor>;

}  // namespace reel
