#pragma once
// The random numbers of a model: one stream for its initial weights and its dropout.
#include <memory>

#include "reel/core/rng.h"

namespace reel::nn {

/// A handle: copies share the generator. One is given to every layer of a model, which so takes the
/// next numbers in the order of construction and of forward calls. Saving and assigning
/// `generator()`, a seed and a position, makes a resumed run equal to the bit.
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : generator_(std::make_shared<Generator>(seed)) {}
  Generator& generator() const { return *generator_; }
  friend bool operator==(const Random&,
                         const Random&) = default;  ///< whether the stream is the same one

 private:
  std::shared_ptr<Generator> generator_;
};

}  // namespace reel::nn
