#pragma once
// What the generic tests need to know of an op: calls to try, and the right values by an
// independent, naive computation in double. One specialisation of Samples for each class of AllOps;
// an op without one does not compile.
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reel/autograd/op.h"
#include "reel/core/rng.h"

namespace reel::test {

/// Row-major values of one output.
using Values = std::vector<double>;
/// Computes every output from the inputs (any dtype; read them with to_vector<double>()).
using Reference = std::function<std::vector<Values>(const std::vector<Tensor>& in)>;

struct Sample {
  std::shared_ptr<const Op> op;
  std::vector<Tensor> in;         ///< floating inputs in f64; an empty Tensor for an input left out
  Reference reference = nullptr;  ///< may be missing only for ops named *_grad and *_grad2
  /// Inputs whose gradient is checked by central differences; bit i for input i. Only floating
  /// inputs count.
  unsigned check_gradient = ~0u;
  /// Terms summed for one output element: sets the rounding bound.
  std::int64_t accumulates = 1;
  /// How much the function can enlarge a relative error of its inputs.
  double condition = 1;
  /// Inputs that stay f32 beside half ones (saved statistics); bit i for input i.
  unsigned wide = 0;
  /// The op reads raw memory order on purpose: skip the strided variants.
  bool exact_layout = false;
};

/// Specialised for each op: `static std::vector<Sample> list();`
template <class T>
struct Samples;

inline Generator& generator() {
  static Generator g(20240229);
  return g;
}
/// Random f64 values with 0.1 <= |x| <= 1.6, either sign: away from zero, where many derivatives
/// jump.
inline Tensor values(const Shape& shape) {
  Tensor t = uniform(shape, generator(), -1.5, 1.5, DType::f64);
  for (std::int64_t i = 0; i < t.numel(); ++i) t.data<double>()[i] += std::copysign(0.1, t.data<double>()[i]);
  return t;
}
/// Random f64 values in [low, high].
inline Tensor values(const Shape& shape, double low, double high) {
  return uniform(shape, generator(), low, high, DType::f64);
}
/// All different, at least `gap` apart, in random order: for max, sort and pooling.
inline Tensor distinct(const Shape& shape, double gap = 0.05) {
  Tensor t = Tensor::empty(shape, DType::f64);
  const auto order = random_permutation(t.numel(), generator());
  for (std::int64_t i = 0; i < t.numel(); ++i)
    t.data<double>()[i] =
        gap * (static_cast<double>(order[static_cast<std::size_t>(i)]) - static_cast<double>(t.numel()) / 2 + 0.25);
  return t;
}
inline Tensor indices(const Shape& shape, std::int64_t below) {
  return random_integers(shape, generator(), 0, below);
}

template <class T, class... A>
std::shared_ptr<const Op> op(A&&... a) {
  return std::make_shared<const T>(std::forward<A>(a)...);
}

}  // namespace reel::test
