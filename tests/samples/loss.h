#pragma once
#include "reel/autograd/ops/loss.h"
#include "reel/tests/support/samples.h"

namespace reel::test {

/// The rows of logits [n, c, d...] in the order of the labels.
inline std::vector<Values> class_rows(const Tensor& x) {
  const Values v = x.to_vector<double>();
  const std::int64_t c = x.shape()[1];
  std::int64_t inner = 1;
  for (int d = 2; d < x.rank(); ++d) inner *= x.shape()[d];
  std::vector<Values> rows;
  for (std::int64_t n = 0; n < x.shape()[0]; ++n)
    for (std::int64_t i = 0; i < inner; ++i) {
      Values row;
      for (std::int64_t k = 0; k < c; ++k) row.push_back(v[static_cast<std::size_t>((n * c + k) * inner + i)]);
      rows.push_back(row);
    }
  return rows;
}
inline Shape label_shape(Shape logits) {
  logits.erase(1);
  return logits;
}
/// Random labels, of which every third is `ignored`.
inline Tensor labels_for(const Shape& logits, std::int64_t ignored, DType dtype = DType::i64) {
  const Tensor t = indices(label_shape(logits), logits[1]);
  for (std::int64_t i = 2; i < t.numel(); i += 3) t.data<std::int64_t>()[i] = ignored;
  return Tensor::from<std::int64_t>(t.shape(), t.to_vector<std::int64_t>(), dtype);
}

template <>
struct Samples<CrossEntropy> {
  static Sample make(const Shape& shape, double e = 0, std::int64_t ignored = -100, DType labels = DType::i64) {
    const auto reference = [=](const std::vector<Tensor>& in) {
      const auto y = in[1].to_vector<std::int64_t>();
      double sum = 0, count = 0;
      Values lse;
      for (const Values& x : class_rows(in[0])) {
        double z = 0;
        for (const double v : x) z += std::exp(v);
        lse.push_back(std::log(z));
        const std::int64_t label = y[lse.size() - 1];
        if (label == ignored) continue;
        count += 1;
        for (std::size_t k = 0; k < x.size(); ++k) {
          const double target = (static_cast<std::int64_t>(k) == label ? 1 - e : 0) + e / static_cast<double>(x.size());
          sum -= target * (x[k] - lse.back());
        }
      }
      return std::vector<Values>{{sum}, {count}, lse};
    };
    return {op<CrossEntropy>(ignored, e),
            {values(shape), labels_for(shape, ignored, labels)},
            reference,
            ~0u,
            numel(shape)};
  }
  static std::vector<Sample> list() {
    return {make({4, 10}),
            make({5, 3}, 0.1),
            make({3, 1}),
            make({1, 33}),
            make({0, 4}),
            make({2, 5, 3}),
            make({2, 3, 2, 3}, 0.25),
            make({4, 7}, 1),
            make({3, 4}, 0, 1),
            make({3, 4, 2}, 0, 255, DType::i32),
            make({2, 17, 0}),
            make({7, 131})};
  }
};
template <>
struct Samples<CrossEntropyGrad> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const Shape& shape : {Shape{4, 10}, Shape{3, 1}, Shape{0, 4}, Shape{2, 3, 2, 3}})
      all.push_back({op<CrossEntropyGrad>(-100, 0.1),
                     {values(shape), labels_for(shape, -100), values(label_shape(shape), 2, 3), values({})},
                     nullptr,
                     0});
    return all;
  }
};

template <>
struct Samples<Nll> {
  static Sample make(const Shape& shape, std::int64_t ignored = -100, DType labels = DType::i64) {
    const auto reference = [=](const std::vector<Tensor>& in) {
      const auto y = in[1].to_vector<std::int64_t>();
      const std::vector<Values> rows = class_rows(in[0]);
      double sum = 0, count = 0;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (y[r] == ignored) continue;
        sum -= rows[r][static_cast<std::size_t>(y[r])];
        count += 1;
      }
      return std::vector<Values>{{sum}, {count}};
    };
    return {op<Nll>(ignored),
            {values(shape), labels_for(shape, ignored, labels)},
            reference,
            ~0u,
            numel(label_shape(shape))};
  }
  static std::vector<Sample> list() {
    return {make({4, 10}),   make({3, 1}),          make({0, 4}),
            make({2, 5, 3}), make({2, 3, 2, 3}, 1), make({3, 4}, -1, DType::i32)};
  }
};
template <>
struct Samples<NllGrad> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const Shape& shape : {Shape{4, 10}, Shape{0, 4}, Shape{2, 3, 2, 3}})
      all.push_back({op<NllGrad>(-100, shape, DType::f64),
                     {labels_for(shape, -100), values({})},
                     [shape](const std::vector<Tensor>& in) {
                       const auto y = in[0].to_vector<std::int64_t>();
                       std::int64_t inner = 1;
                       for (int d = 2; d < shape.rank(); ++d) inner *= shape[d];
                       Values dx(static_cast<std::size_t>(numel(shape)));
                       for (std::int64_t r = 0; r < static_cast<std::int64_t>(y.size()); ++r) {
                         const std::int64_t label = y[static_cast<std::size_t>(r)];
                         if (label != -100)
                           dx[static_cast<std::size_t>((r / inner * shape[1] + label) * inner + r % inner)] =
                               -in[1].item();
                       }
                       return std::vector<Values>{dx};
                     }});
    return all;
  }
};

inline double reference(math::SquaredError, double x, double t) {
  return std::pow(x - t, 2);
}
inline double reference(math::AbsoluteError, double x, double t) {
  return std::fabs(x - t);
}
inline double reference(math::SmoothL1 f, double x, double t) {
  const double d = std::fabs(x - t);
  return d < f.beta ? d * d / (2 * f.beta) : d - f.beta / 2;
}
inline double reference(math::BinaryCrossEntropy, double x, double t) {
  return -t * std::log(x) - (1 - t) * std::log(1 - x);
}
inline double reference(math::BinaryCrossEntropyWithLogits, double x, double t) {
  return reference(math::BinaryCrossEntropy{}, 1 / (1 + std::exp(-x)), t);
}

/// Moves x away from where |x - t| is 0 or `kink`: a derivative jumps there.
inline Tensor away_from_kinks(const Tensor& x, const Tensor& t, double kink) {
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    double& v = x.data<double>()[i];
    const auto close = [&](double place) { return std::fabs(std::fabs(v - t.data<double>()[i]) - place) < 0.02; };
    while (close(0) || close(kink)) v += 0.03;
  }
  return x;
}

template <class F>
struct Samples<PairLoss<F>> {
  static Sample make(const Shape& shape, F f) {
    const Tensor target = values(shape, 0.02, 0.98);
    Tensor input = std::is_same_v<F, math::BinaryCrossEntropy> ? values(shape, 0.05, 0.95) : values(shape);
    if constexpr (std::is_same_v<F, math::SmoothL1>) input = away_from_kinks(input, target, f.beta);
    if constexpr (std::is_same_v<F, math::AbsoluteError>) input = away_from_kinks(input, target, 0);
    return {op<PairLoss<F>>(f),
            {input, target},
            [f](const std::vector<Tensor>& in) {
              const Values x = in[0].to_vector<double>(), t = in[1].to_vector<double>();
              double sum = 0;
              for (std::size_t i = 0; i < x.size(); ++i) sum += reference(f, x[i], t[i]);
              return std::vector<Values>{{sum}, {static_cast<double>(x.size())}};
            },
            ~0u,
            std::max<std::int64_t>(1, numel(shape))};
  }
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const Shape& shape : {Shape{4, 1}, Shape{3, 5}, Shape{}, Shape{0, 4}, Shape{2, 3, 4, 5}, Shape{131}})
      all.push_back(make(shape, F()));
    if constexpr (std::is_same_v<F, math::SmoothL1>) all.push_back(make({3, 5}, {0.6}));
    return all;
  }
};
template <class F>
struct Samples<PairLossGrad<F>> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const Shape& shape : {Shape{4, 1}, Shape{}, Shape{0, 4}, Shape{2, 3, 4, 5}})
      all.push_back(
          {op<PairLossGrad<F>>(), {values(shape, 0.05, 0.95), values(shape, 0.02, 0.98), values({})}, nullptr, 0});
    return all;
  }
};

}  // namespace reel::test
