#pragma once
#include "reel/autograd/ops/norm.h"
#include "reel/tests/support/samples.h"

namespace reel::test {

/// Mean and biased variance of the elements that share a number.
struct NaiveStatistics {
  Values mean, var;
};
inline NaiveStatistics naive_statistics(const Values& x, const std::vector<std::size_t>& group, std::size_t groups) {
  std::vector<long double> count(groups), mean(groups), var(groups);
  for (std::size_t i = 0; i < x.size(); ++i) count[group[i]] += 1;
  for (std::size_t i = 0; i < x.size(); ++i) mean[group[i]] += x[i] / count[group[i]];
  for (std::size_t i = 0; i < x.size(); ++i)
    var[group[i]] += (x[i] - mean[group[i]]) * (x[i] - mean[group[i]]) / count[group[i]];
  return {Values(mean.begin(), mean.end()), Values(var.begin(), var.end())};
}
inline Values naive_rstd(const Values& var, double eps) {
  Values r;
  for (const double v : var) r.push_back(1 / std::sqrt(v + eps));
  return r;
}
/// Element i of an operand that may be left out.
inline double param_or(const std::vector<Tensor>& in, std::size_t operand, std::size_t i, double otherwise) {
  return operand < in.size() && in[operand] ? in[operand].to_vector<double>()[i] : otherwise;
}
/// For [n, c, ...]: the channel of each row-major position.
inline std::vector<std::size_t> channels_of(const Shape& s) {
  std::vector<std::size_t> c;
  std::int64_t inner = 1;
  for (int d = 2; d < s.rank(); ++d) inner *= s[d];
  for (std::int64_t i = 0; i < numel(s); ++i) c.push_back(static_cast<std::size_t>(i / inner % s[1]));
  return c;
}
inline Shape last_of(const Shape& s, int dims) {
  return Shape(std::span(s.end() - dims, s.end()));
}

/// LayerNorm, or RmsNorm where there is no bias and nothing is subtracted.
inline Reference row_norm_reference(int dims, double eps, bool centred) {
  return [=](const std::vector<Tensor>& in) {
    const Values x = in[0].to_vector<double>();
    const std::int64_t width = numel(last_of(in[0].shape(), dims));
    std::int64_t rows = 1;
    for (int d = 0; d < in[0].rank() - dims; ++d) rows *= in[0].shape()[d];
    std::vector<std::size_t> row;
    Values squared;
    for (std::size_t i = 0; i < x.size(); ++i) row.push_back(i / static_cast<std::size_t>(width));
    for (const double v : x) squared.push_back(v * v);
    NaiveStatistics s = naive_statistics(centred ? x : squared, row, static_cast<std::size_t>(rows));
    const Values rstd = naive_rstd(centred ? s.var : s.mean, eps);
    Values y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t column = i % static_cast<std::size_t>(width);
      y.push_back((x[i] - (centred ? s.mean[row[i]] : 0)) * rstd[row[i]] * param_or(in, 1, column, 1) +
                  param_or(in, 2, column, 0));
    }
    return centred ? std::vector<Values>{y, s.mean, rstd} : std::vector<Values>{y, rstd};
  };
}

template <>
struct Samples<LayerNorm> {
  static Sample make(const Shape& shape, int dims, bool weight, bool bias, double eps = 1e-5) {
    const Shape row = last_of(shape, dims);
    return {op<LayerNorm>(eps, dims),
            {values(shape), weight ? values(row) : Tensor(), bias ? values(row) : Tensor()},
            row_norm_reference(dims, eps, true),
            ~0u,
            numel(row),
            1 / std::sqrt(eps)};
  }
  static std::vector<Sample> list() {
    return {make({3, 7}, 1, true, true),     make({2, 3, 4}, 1, true, true),   make({2, 3, 4}, 2, true, true),
            make({2, 3, 4}, 3, true, false), make({5}, 1, false, true),        make({4, 1}, 1, true, true),
            make({0, 6}, 1, true, true),     make({3, 0}, 1, true, true),      make({2, 33}, 1, false, false, 0.1),
            make({3, 65}, 1, true, true),    make({2, 3, 2, 5}, 2, true, true)};
  }
};
template <>
struct Samples<LayerNormGrad> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const unsigned wanted : {7u, 1u, 2u, 4u}) {
      all.push_back(
          {op<LayerNormGrad>(1, wanted, DType::f32),
           {values({5, 33}), wanted & 2 ? values({33}) : Tensor(), values({5}), values({5}, 0.5, 2), values({5, 33})},
           nullptr,
           0});
    }
    return all;
  }
};
template <>
struct Samples<RmsNorm> {
  static Sample make(const Shape& shape, int dims, bool weight, double eps = 1e-6) {
    const Shape row = last_of(shape, dims);
    return {op<RmsNorm>(eps, dims),
            {values(shape), weight ? values(row) : Tensor()},
            row_norm_reference(dims, eps, false),
            ~0u,
            numel(row),
            1 / std::sqrt(eps)};
  }
  static std::vector<Sample> list() {
    return {make({3, 7}, 1, true),           make({2, 3, 4}, 2, true), make({5}, 1, false),
            make({4, 1}, 1, true),           make({0, 6}, 1, true),    make({3, 65}, 1, true),
            make({2, 3, 2, 5}, 1, true, 0.1)};
  }
};
template <>
struct Samples<RmsNormGrad> {
  static std::vector<Sample> list() {
    return {{op<RmsNormGrad>(1, 3u), {values({5, 33}), values({33}), values({5}, 0.5, 2), values({5, 33})}, nullptr, 0},
            {op<RmsNormGrad>(2, 1u), {values({2, 3, 4}), {}, values({2}, 0.5, 2), values({2, 3, 4})}, nullptr, 0}};
  }
};

template <>
struct Samples<GroupNorm> {
  static Sample make(const Shape& shape, std::int64_t groups, bool weight, bool bias, double eps = 1e-5) {
    const auto reference = [=](const std::vector<Tensor>& in) {
      const Values x = in[0].to_vector<double>();
      const std::vector<std::size_t> channel = channels_of(in[0].shape());
      const auto n = static_cast<std::size_t>(shape[0]), c = static_cast<std::size_t>(shape[1]),
                 g = static_cast<std::size_t>(groups);
      std::vector<std::size_t> group;
      for (std::size_t i = 0; i < x.size(); ++i) group.push_back(i / (x.size() / n) * g + channel[i] / (c / g));
      const NaiveStatistics s = naive_statistics(x, group, n * g);
      const Values rstd = naive_rstd(s.var, eps);
      Values y;
      for (std::size_t i = 0; i < x.size(); ++i)
        y.push_back((x[i] - s.mean[group[i]]) * rstd[group[i]] * param_or(in, 1, channel[i], 1) +
                    param_or(in, 2, channel[i], 0));
      return std::vector<Values>{y, s.mean, rstd};
    };
    const Shape c{shape[1]};
    return {op<GroupNorm>(groups, eps),
            {values(shape), weight ? values(c) : Tensor(), bias ? values(c) : Tensor()},
            reference,
            ~0u,
            shape[0] ? numel(shape) / shape[0] / groups : 1,
            1 / std::sqrt(eps)};
  }
  static std::vector<Sample> list() {
    return {make({2, 4, 3, 5}, 2, true, true), make({2, 6, 2, 2}, 6, true, true), make({3, 4, 1, 3}, 1, true, false),
            make({2, 6}, 3, true, true),       make({2, 3, 7}, 1, false, true),   make({1, 2, 3}, 2, false, false, 0.1),
            make({0, 4, 2, 2}, 2, true, true), make({2, 4, 0, 2}, 2, true, true), make({1, 66, 2, 3}, 33, true, true)};
  }
};
template <>
struct Samples<GroupNormGrad> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const unsigned wanted : {7u, 1u, 6u}) {
      all.push_back({op<GroupNormGrad>(wanted, DType::f32),
                     {values({3, 4, 2, 3}), wanted == 7 ? values({4}) : Tensor(), values({3, 2}),
                      values({3, 2}, 0.5, 2), values({3, 4, 2, 3})},
                     nullptr,
                     0});
    }
    return all;
  }
};

template <>
struct Samples<BatchNorm> {
  static Sample make(const Shape& shape, bool weight, bool bias, bool given, double eps = 1e-5) {
    const auto reference = [=](const std::vector<Tensor>& in) {
      const Values x = in[0].to_vector<double>();
      const std::vector<std::size_t> channel = channels_of(in[0].shape());
      NaiveStatistics s = naive_statistics(x, channel, static_cast<std::size_t>(shape[1]));
      if (given) s = {in[3].to_vector<double>(), in[4].to_vector<double>()};
      const Values rstd = naive_rstd(s.var, eps);
      Values y;
      for (std::size_t i = 0; i < x.size(); ++i)
        y.push_back((x[i] - s.mean[channel[i]]) * rstd[channel[i]] * param_or(in, 1, channel[i], 1) +
                    param_or(in, 2, channel[i], 0));
      return given ? std::vector<Values>{y} : std::vector<Values>{y, s.mean, s.var};
    };
    const Shape c{shape[1]};
    std::vector<Tensor> in{values(shape), weight ? values(c) : Tensor(), bias ? values(c) : Tensor()};
    if (given) {
      in.push_back(values(c));
      in.push_back(values(c, 0.5, 2));
    }
    return {op<BatchNorm>(eps), in, reference, ~0u, shape[1] ? numel(shape) / shape[1] : 1, 1 / std::sqrt(eps)};
  }
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const bool given : {false, true})
      for (const Shape& shape : {Shape{3, 4, 2, 3}, Shape{2, 1, 3, 3}, Shape{5, 3}, Shape{2, 3, 4}, Shape{0, 3, 2, 2},
                                 Shape{2, 0}, Shape{3, 67}})
        all.push_back(make(shape, true, true, given));
    all.push_back(make({1, 2, 3, 1}, false, true, false, 0.1));
    all.push_back(make({4, 2}, true, false, false));
    all.push_back(make({1, 2}, false, false, true));
    return all;
  }
};
template <>
struct Samples<BatchNormGrad> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const bool of_batch : {true, false})
      for (const unsigned wanted : {7u, 1u, 6u})
        all.push_back({op<BatchNormGrad>(1e-5, of_batch, wanted, DType::f32),
                       {values({3, 4, 2, 3}), wanted == 7 ? values({4}) : Tensor(), values({4}), values({4}, 0.5, 2),
                        values({3, 4, 2, 3})},
                       nullptr,
                       0});
    return all;
  }
};

}  // namespace reel::test
