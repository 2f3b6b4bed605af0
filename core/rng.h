#pragma once
// Random tensors: the same numbers on any device, for any number of threads.
#include <vector>

#include "reel/core/tensor.h"

namespace reel {

/// A seed and a position in its stream. Plain data: copy it to save it, assign it to restore it.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0, std::uint64_t position = 0) : seed_(seed), position_(position) {}
  std::uint64_t seed() const { return seed_; }
  std::uint64_t position() const { return position_; }  ///< in blocks of four words
  /// Takes the next blocks for `n` numbers and returns the position of the first.
  std::uint64_t reserve(std::int64_t n) {
    const std::uint64_t at = position_;
    position_ += static_cast<std::uint64_t>(n + 3) / 4;
    return at;
  }

 private:
  std::uint64_t seed_, position_;
};

/// Independent numbers, uniform on [low, high).
Tensor uniform(const Shape& shape, Generator& g, double low = 0, double high = 1, DType dtype = DType::f32);
/// Independent normal numbers.
Tensor normal(const Shape& shape, Generator& g, double mean = 0, double stddev = 1, DType dtype = DType::f32);
/// Whole numbers, uniform on [low, high), as i64. Throws ValueError for an empty range.
Tensor random_integers(const Shape& shape, Generator& g, std::int64_t low, std::int64_t high);
/// 0 ... n-1 in random order (Fisher and Yates).
std::vector<std::int64_t> random_permutation(std::int64_t n, Generator& g);

}  // namespace reel
