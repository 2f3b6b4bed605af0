#pragma once
// What a model is made of and what one call of it costs.
#include <iosfwd>

#include "reel/nn/module.h"

namespace reel::nn {

struct SummaryRow {
  std::string name, type;       ///< "conv1", "Conv2d"; name "" for work outside of any layer
  Shape output;                 ///< of the last op of the layer; meaningful where calls > 0
  std::int64_t ops = 0;         ///< ops that ran in it; 0 for a layer that passed its input on, or was not used
  std::int64_t parameters = 0;  ///< numbers in its own parameters
  double flops = 0;             ///< of its ops, as each op states its own cost
  double activation_bytes = 0;  ///< written by its ops; views write nothing
};

struct Summary {
  std::string model;  ///< its type
  Shape input;
  std::vector<SummaryRow> rows;  ///< the layers, in the order of registration; then what ran between them
  SummaryRow total;
  std::int64_t trainable = 0;  ///< of total.parameters, those that require a gradient
  double parameter_bytes = 0;
  std::string text() const;  ///< a table with a line for each row and the totals
};
std::ostream& operator<<(std::ostream& os, const Summary& s);

/// Calls the model once with zeros of this shape and dtype, in evaluation mode and without a tape.
/// Its numbers, its running statistics and its random stream are not changed.
Summary summary(const Module& model, const Shape& input, DType dtype = DType::f32);

}  // namespace reel::nn
