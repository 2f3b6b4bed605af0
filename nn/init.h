#pragma once
// First values of weights. Each function overwrites the tensor in place and returns it; none is
// recorded. Throws DTypeError unless the dtype is floating. Fans are PyTorch's: for a weight [out,
// in, k...], fan_in is in * k..., fan_out is out * k....
#include "reel/nn/random.h"

namespace reel::nn::init {

const Tensor& constant(const Tensor& t, double value);
inline const Tensor& zeros(const Tensor& t) {
  return constant(t, 0);
}
inline const Tensor& ones(const Tensor& t) {
  return constant(t, 1);
}
const Tensor& uniform(const Tensor& t, const Random& random, double low, double high);
const Tensor& normal(const Tensor& t, const Random& random, double mean = 0, double stddev = 1);

struct Fans {
  std::int64_t in, out;
};
Fans fans_of(const Tensor& t);  ///< ShapeError for fewer than two dimensions

/// U(-b, b) with b = gain sqrt(3 / fan_in), gain = sqrt(2 / (1 + slope^2)) for a leaky ReLU of that
/// slope (He et al. 2015). The default slope, sqrt(5), gives b = 1 / sqrt(fan_in): PyTorch's choice
/// for Linear and Conv.
const Tensor& kaiming_uniform(const Tensor& t, const Random& random, double slope = 2.23606797749978969);
/// N(0, gain^2 / fan_in)
const Tensor& kaiming_normal(const Tensor& t, const Random& random, double slope = 0);
/// U(-b, b) with b = gain sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010)
const Tensor& xavier_uniform(const Tensor& t, const Random& random, double gain = 1);
/// N(0, 2 gain^2 / (fan_in + fan_out))
const Tensor& xavier_normal(const Tensor& t, const Random& random, double gain = 1);

}  // namespace reel::nn::init
