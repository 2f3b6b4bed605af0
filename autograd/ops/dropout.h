#pragma once
#include "reel/autograd/op.h"

namespace reel {

/// Zeroes each element with probability p and divides the others by 1 - p. The mask is a function
/// of the attributes and of an element's row-major position alone, so backward is the same op,
/// applied to dy.
class Dropout final : public OpOf<Dropout> {
 public:
  static constexpr OpInfo kInfo{"dropout", "random < p ? 0 : x / (1 - p)", Cast::keep};
  Dropout(double probability, std::uint64_t key, std::uint64_t block) : p(probability), seed(key), position(block) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  double p;
  std::uint64_t seed, position;  // of the Philox stream; the position counts blocks of four words
};

}  // namespace reel
