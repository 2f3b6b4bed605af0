#pragma once
#include "reel/autograd/ops/pointwise.h"
#include "reel/tests/support/samples.h"

namespace reel::test {

/// The right value of each function, by the C library in double.
inline double reference(math::Neg, double x) {
  return -x;
}
inline double reference(math::Abs, double x) {
  return std::fabs(x);
}
inline double reference(math::Sign, double x) {
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}
inline double reference(math::Floor, double x) {
  return std::floor(x);
}
inline double reference(math::Ceil, double x) {
  return std::ceil(x);
}
inline double reference(math::Round, double x) {
  return std::nearbyint(x);
}
inline double reference(math::Exp, double x) {
  return std::exp(x);
}
inline double reference(math::Expm1, double x) {
  return std::expm1(x);
}
inline double reference(math::Log, double x) {
  return std::log(x);
}
inline double reference(math::Log1p, double x) {
  return std::log1p(x);
}
inline double reference(math::Sqrt, double x) {
  return std::sqrt(x);
}
inline double reference(math::Rsqrt, double x) {
  return 1 / std::sqrt(x);
}
inline double reference(math::Reciprocal, double x) {
  return 1 / x;
}
inline double reference(math::Square, double x) {
  return x * x;
}
inline double reference(math::Sin, double x) {
  return std::sin(x);
}
inline double reference(math::Cos, double x) {
  return std::cos(x);
}
inline double reference(math::Tanh, double x) {
  return std::tanh(x);
}
inline double reference(math::Sigmoid, double x) {
  return 1 / (1 + std::exp(-x));
}
inline double reference(math::Relu, double x) {
  return std::fmax(x, 0);
}
inline double reference(math::LeakyRelu f, double x) {
  return x > 0 ? x : f.slope * x;
}
inline double reference(math::Elu f, double x) {
  return x > 0 ? x : f.alpha * (std::exp(x) - 1);
}
inline double reference(math::Gelu, double x) {
  return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
}
inline double reference(math::GeluTanh, double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3))));
}
inline double reference(math::Silu, double x) {
  return x / (1 + std::exp(-x));
}
inline double reference(math::Erf, double x) {
  return std::erf(x);
}
inline double reference(math::Softplus, double x) {
  return std::log(1 + std::exp(x));
}
inline double reference(math::Clamp f, double x) {
  return std::fmin(std::fmax(x, f.low), f.high);
}
inline double reference(math::AddScalar f, double x) {
  return x + f.c;
}
inline double reference(math::MulScalar f, double x) {
  return x * f.c;
}
inline double reference(math::PowScalar f, double x) {
  return std::pow(x, f.e);
}

/// Whether f is defined for positive numbers only.
template <class F>
constexpr bool positive_only =
    std::is_same_v<F, math::Log> || std::is_same_v<F, math::Log1p> || std::is_same_v<F, math::Sqrt> ||
    std::is_same_v<F, math::Rsqrt> || std::is_same_v<F, math::PowScalar>;

template <class F>
F example() {
  if constexpr (std::is_same_v<F, math::Clamp>)
    return {-0.7, 0.8};
  else if constexpr (std::is_same_v<F, math::LeakyRelu>)
    return {0.2};
  else if constexpr (std::is_same_v<F, math::AddScalar>)
    return {0.75};
  else if constexpr (std::is_same_v<F, math::MulScalar>)
    return {-2.5};
  else if constexpr (std::is_same_v<F, math::PowScalar>)
    return {2.5};
  else
    return {};
}

template <class F>
Tensor inputs_for(const Shape& shape) {
  if (positive_only<F>) return values(shape, 0.2, 2.0);
  Tensor x = values(shape);
  if constexpr (std::is_same_v<F, math::Floor> || std::is_same_v<F, math::Ceil> || std::is_same_v<F, math::Round>)
    for (std::int64_t i = 0; i < x.numel(); ++i) {  // away from the jumps
      double& v = x.data<double>()[i];
      v = std::floor(v) + 0.1 + 0.3 * (v - std::floor(v));
    }
  return x;
}

template <class F>
struct Samples<Map<F>> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{1}, Shape{0, 4}, Shape{2, 3, 4, 5}, Shape{131}}) {
      const F f = example<F>();
      all.push_back({op<Map<F>>(f), {inputs_for<F>(shape)}, [f](const std::vector<Tensor>& in) {
                       Values y = in[0].to_vector<double>();
                       for (double& v : y) v = reference(f, v);
                       return std::vector<Values>{y};
                     }});
    }
    return all;
  }
};
template <class F>
struct Samples<MapGrad<F>> {  // its values are covered by the gradient check of Map<F>, its gradient by `second
                              // derivatives`
  static std::vector<Sample> list() {
    const Tensor x = inputs_for<F>({3, 5});
    Tensor y = Tensor::empty({3, 5}, DType::f64);
    for (int i = 0; i < 15; ++i) y.data<double>()[i] = reference(example<F>(), x.data<double>()[i]);
    return {{op<MapGrad<F>>(example<F>()), {x, y, values({3, 5})}, nullptr, 0}};
  }
};
template <class F>
struct Samples<MapGrad2<F>> {
  static std::vector<Sample> list() {
    Sample s = Samples<MapGrad<F>>::list()[0];
    return {{op<MapGrad2<F>>(example<F>()), {s.in[0], s.in[1], s.in[2], values({3, 5})}, nullptr, 0}};
  }
};

}  // namespace reel::test
