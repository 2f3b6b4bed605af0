#include "reel/nn/init.h"

#include <cmath>

#include "reel/kernels/pointwise.h"

namespace reel::nn::init {
namespace {

void require_floating(const char* who, const Tensor& t) {
  check<DTypeError>(is_floating(t.dtype()), who, ": needs a floating dtype, but the tensor is ", name_of(t.dtype()));
}

const Tensor& assign(const Tensor& t, const Tensor& values) {
  kernels::copy({t.device(), Stream{t.device()}}, values, t);
  t.bump_version();
  return t;
}

/// A fan of 0 has no elements to set.
double root_of(double numerator, std::int64_t fan) {
  return std::sqrt(numerator / static_cast<double>(std::max<std::int64_t>(fan, 1)));
}
double gain_of(double slope) {
  return std::sqrt(2 / (1 + slope * slope));
}

}  // namespace

const Tensor& constant(const Tensor& t, double value) {
  kernels::fill({t.device(), Stream{t.device()}}, t, value);
  t.bump_version();
  return t;
}
const Tensor& uniform(const Tensor& t, const Random& random, double low, double high) {
  require_floating("init::uniform", t);
  return assign(t, reel::uniform(t.shape(), random.generator(), low, high, t.dtype()));
}
const Tensor& normal(const Tensor& t, const Random& random, double mean, double stddev) {
  require_floating("init::normal", t);
  return assign(t, reel::normal(t.shape(), random.generator(), mean, stddev, t.dtype()));
}

Fans fans_of(const Tensor& t) {
  const Shape& s = t.shape();
  check<ShapeError>(s.rank() >= 2, "init: fans need at least two dimensions, but the shape is ", s);
  std::int64_t field = 1;
  for (int d = 2; d < s.rank(); ++d) field *= s[d];
  return {s[1] * field, s[0] * field};
}

const Tensor& kaiming_uniform(const Tensor& t, const Random& random, double slope) {
  const double b = gain_of(slope) * root_of(3, fans_of(t).in);
  return uniform(t, random, -b, b);
}
const Tensor& kaiming_normal(const Tensor& t, const Random& random, double slope) {
  return normal(t, random, 0, gain_of(slope) * root_of(1, fans_of(t).in));
}
const Tensor& xavier_uniform(const Tensor& t, const Random& random, double gain) {
  const Fans f = fans_of(t);
  const double b = gain * root_of(6, f.in + f.out);
  return uniform(t, random, -b, b);
}
const Tensor& xavier_normal(const Tensor& t, const Random& random, double gain) {
  const Fans f = fans_of(t);
  return normal(t, random, 0, gain * root_of(2, f.in + f.out));
}

}  // namespace reel::nn::init
