#pragma once
#include <cmath>

#include "reel/autograd/ops/binary.h"
#include "reel/core/view.h"
#include "reel/tests/support/samples.h"

namespace reel::test {

inline double reference(math::Add, double a, double b) {
  return a + b;
}
inline double reference(math::Sub, double a, double b) {
  return a - b;
}
inline double reference(math::Mul, double a, double b) {
  return a * b;
}
inline double reference(math::Div, double a, double b) {
  return a / b;
}
inline double reference(math::Pow, double a, double b) {
  return std::pow(a, b);
}
inline double reference(math::Maximum, double a, double b) {
  return std::max(a, b);
}
inline double reference(math::Minimum, double a, double b) {
  return std::min(a, b);
}
inline double reference(math::Equal, double a, double b) {
  return a == b;
}
inline double reference(math::NotEqual, double a, double b) {
  return a != b;
}
inline double reference(math::Less, double a, double b) {
  return a < b;
}
inline double reference(math::LessEqual, double a, double b) {
  return a <= b;
}
inline double reference(math::Greater, double a, double b) {
  return a > b;
}
inline double reference(math::GreaterEqual, double a, double b) {
  return a >= b;
}

/// Values of `t` repeated to `shape`.
inline Values spread(const Tensor& t, const Shape& shape) {
  return view::expand(t, shape).to_vector<double>();
}

template <class F>
Reference binary_reference() {
  return [](const std::vector<Tensor>& in) {
    const Shape shape = broadcast(in[0].shape(), in[1].shape(), "reference");
    Values a = spread(in[0], shape);
    const Values b = spread(in[1], shape);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = reference(F{}, a[i], b[i]);
    return std::vector<Values>{a};
  };
}

inline const std::vector<std::pair<Shape, Shape>>& binary_shapes() {
  static const std::vector<std::pair<Shape, Shape>> shapes = {{{3, 5}, {3, 5}},
                                                              {{}, {}},
                                                              {{4}, {3, 4}},
                                                              {{3, 1}, {1, 4}},
                                                              {{2, 3, 4, 5}, {2, 3, 4, 5}},
                                                              {{2, 3}, {}},
                                                              {{1}, {2, 2}},
                                                              {{2, 1, 3, 1}, {4, 1, 2}},
                                                              {{0, 3}, {3}},
                                                              {{37}, {37}}};
  return shapes;
}

template <class F>
struct Samples<Zip<F>> {
  static std::vector<Sample> list() {
    constexpr bool extreme = std::is_same_v<F, math::Maximum> || std::is_same_v<F, math::Minimum>;
    std::vector<Sample> all;
    for (const auto& [a, b] : binary_shapes()) {
      Tensor x = values(a), y = values(b);
      if (std::is_same_v<F, math::Pow>) x = values(a, 0.3, 2.0);
      if (extreme) {  // never equal: the derivative jumps there
        x = distinct(a);
        y = distinct(b, 0.07);
      }
      all.push_back({op<Zip<F>>(), {x, y}, binary_reference<F>()});
    }
    return all;
  }
};
template <class F>
struct Samples<Compare<F>> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const auto& [a, b] : binary_shapes()) {
      Tensor x = uniform(a, generator(), -2, 2, DType::f64), y = uniform(b, generator(), -2, 2, DType::f64);
      for (Tensor t : {x, y})  // whole numbers, so that some are equal
        for (std::int64_t i = 0; i < t.numel(); ++i) t.data<double>()[i] = std::round(t.data<double>()[i]);
      all.push_back({op<Compare<F>>(), {x, y}, binary_reference<F>()});
    }
    return all;
  }
};
template <>
struct Samples<Where> {
  static std::vector<Sample> list() {
    const auto mask = [](const Shape& s) {
      Tensor m = Tensor::empty(s, DType::boolean);
      for (std::int64_t i = 0; i < m.numel(); ++i) m.data<bool>()[i] = i % 3 != 1;
      return m;
    };
    const Reference reference = [](const std::vector<Tensor>& in) {
      const Shape shape = broadcast(broadcast(in[0].shape(), in[1].shape(), ""), in[2].shape(), "");
      const Values c = spread(in[0], shape), a = spread(in[1], shape), b = spread(in[2], shape);
      Values y(c.size());
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = c[i] != 0 ? a[i] : b[i];
      return std::vector<Values>{y};
    };
    return {{op<Where>(), {mask({3, 4}), values({3, 4}), values({3, 4})}, reference},
            {op<Where>(), {mask({3, 1}), values({}), values({2, 1, 4})}, reference},
            {op<Where>(), {mask({0}), values({1}), values({0})}, reference}};
  }
};

}  // namespace reel::test
