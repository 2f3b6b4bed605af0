#pragma once
#include <algorithm>
#include <numeric>

#include "reel/autograd/ops/extreme.h"
#include "reel/autograd/ops/reduce.h"
#include "reel/autograd/ops/scan.h"
#include "reel/autograd/ops/softmax.h"
#include "reel/tests/support/samples.h"

namespace reel::test {

/// Row-major positions in x of what belongs to each element of the result, both in row-major order.
inline std::vector<std::vector<std::size_t>> groups(const Shape& x, unsigned mask) {
  std::int64_t kept = 1;
  for (int d = 0; d < x.rank(); ++d) kept *= (mask >> d) & 1u ? 1 : x[d];
  std::vector<std::vector<std::size_t>> g(static_cast<std::size_t>(kept));
  for (std::int64_t i = 0; i < numel(x); ++i) {
    std::int64_t rest = i, to = 0, step = 1;
    for (int d = x.rank() - 1; d >= 0; --d) {
      if (!((mask >> d) & 1u)) {
        to += rest % x[d] * step;
        step *= x[d];
      }
      rest /= x[d];
    }
    g[static_cast<std::size_t>(to)].push_back(static_cast<std::size_t>(i));
  }
  return g;
}
/// The mask of one dimension.
inline unsigned along(const Shape& x, int dim) {
  return x.rank() ? 1u << (dim < 0 ? dim + x.rank() : dim) : 0;
}
inline Values pick(const Values& x, const std::vector<std::size_t>& at) {
  Values v;
  for (const std::size_t i : at) v.push_back(x[i]);
  return v;
}
inline std::int64_t longest(const Shape& x, unsigned mask) {
  const auto g = groups(x, mask);
  return g.empty() ? 0 : static_cast<std::int64_t>(g[0].size());
}

inline double naive_sum(const Values& v) {
  return static_cast<double>(std::accumulate(v.begin(), v.end(), 0.0L));
}
inline double naive_mean(const Values& v) {
  return naive_sum(v) / static_cast<double>(v.size());
}
inline double naive_var(const Values& v, double correction) {
  double s = 0;
  for (const double x : v) s += (x - naive_mean(v)) * (x - naive_mean(v));
  return s / (static_cast<double>(v.size()) - correction);
}
inline double naive_norm(const Values& v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}
inline double naive_logsumexp(const Values& v) {
  double s = 0;
  for (const double x : v) s += std::exp(x);
  return std::log(s);
}

/// One value for each group.
template <class Fn>
Reference by_group(unsigned mask, Fn fn) {
  return [=](const std::vector<Tensor>& in) {
    const Values x = in[0].to_vector<double>();
    Values y;
    for (const auto& g : groups(in[0].shape(), mask)) y.push_back(fn(pick(x, g)));
    return std::vector<Values>{y};
  };
}
/// As many values as elements: fn(group) gives those of the group.
template <class Fn>
Reference by_row(unsigned mask, Fn fn) {
  return [=](const std::vector<Tensor>& in) {
    const Values x = in[0].to_vector<double>();
    Values y(x.size());
    for (const auto& g : groups(in[0].shape(), mask)) {
      const Values v = fn(pick(x, g));
      for (std::size_t i = 0; i < g.size(); ++i) y[g[i]] = v[i];
    }
    return std::vector<Values>{y};
  };
}

struct ReductionCase {
  Shape shape;
  Dims dims;
  bool keepdim;
  unsigned mask() const { return Reduction{dims, keepdim}.mask(shape, "test"); }
};
/// Every path of the kernels: runs, columns, few columns, several blocks, several dimensions,
/// nothing at all.
inline std::vector<ReductionCase> reduction_cases() {
  return {{{3, 5}, {}, false},
          {{3, 5}, {0}, false},
          {{3, 5}, {1}, true},
          {{}, {}, false},
          {{1}, {0}, false},
          {{0, 4}, {1}, false},
          {{2, 3, 4, 5}, {}, true},
          {{2, 3, 4, 5}, {0, 2, 3}, false},
          {{2, 3, 4, 5}, {1, -1}, true},
          {{2, 3, 4, 5}, {2}, false},
          {{131}, {}, false},
          {{37, 3}, {0}, false},
          {{150, 3}, {0}, false},
          {{131, 260}, {0}, false},
          {{3, 2100}, {1}, false},
          {{70, 2, 35}, {0, 2}, true}};
}
/// Central differences are taken for inputs of moderate size.
inline unsigned moderate(const Shape& s) {
  return numel(s) <= 500 ? ~0u : 0;
}

template <class T, class Fn>
std::vector<Sample> reduction_samples(Fn fn) {
  std::vector<Sample> all;
  for (const auto& c : reduction_cases())
    all.push_back({op<T>(c.dims, c.keepdim),
                   {values(c.shape)},
                   by_group(c.mask(), fn),
                   moderate(c.shape),
                   longest(c.shape, c.mask())});
  return all;
}

template <>
struct Samples<Sum> {
  static std::vector<Sample> list() {
    auto all = reduction_samples<Sum>(naive_sum);
    for (const Shape& s : {Shape{0, 4}, Shape{0}})
      all.push_back({op<Sum>(Dims{0}), {values(s)}, by_group(1, naive_sum)});
    all.push_back({op<Sum>(Dims{0}), {indices({5, 3}, 100)}, by_group(1, naive_sum), 0});
    return all;
  }
};
template <>
struct Samples<Mean> {
  static std::vector<Sample> list() { return reduction_samples<Mean>(naive_mean); }
};
template <>
struct Samples<Norm> {
  static std::vector<Sample> list() { return reduction_samples<Norm>(naive_norm); }
};
template <>
struct Samples<Var> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const auto& c : reduction_cases()) {
      const unsigned mask = c.mask();
      const std::int64_t n = longest(c.shape, mask);
      for (const double correction : {0.0, 1.0}) {
        if (numel(c.shape) > 0 && static_cast<double>(n) <= correction) continue;
        const Reference reference = [=](const std::vector<Tensor>& in) {
          return std::vector<Values>{by_group(mask, [=](const Values& v) { return naive_var(v, correction); })(in)[0],
                                     by_group(mask, naive_mean)(in)[0]};
        };
        all.push_back({op<Var>(c.dims, c.keepdim, correction), {values(c.shape)}, reference, moderate(c.shape), n + 2});
      }
    }
    return all;
  }
};
template <>
struct Samples<VarGrad> {
  static constexpr unsigned kMean = 2;  // input 1, saved in f32
  static std::vector<Sample> list() {
    return {{op<VarGrad>(Dims{1}, false, 0.0), {values({3, 5}), values({3}), values({3})}, nullptr, 0, 1, 1, kMean},
            {op<VarGrad>(Dims{0, 2}, true, 1.0),
             {values({3, 2, 4}), values({1, 2, 1}), values({1, 2, 1})},
             nullptr,
             0,
             1,
             1,
             kMean},
            {op<VarGrad>(), {values({7}), values({}), values({})}, nullptr, 0, 1, 1, kMean}};
  }
};

template <>
struct Samples<Prod> {
  static std::vector<Sample> list() {
    const auto naive = [](const Values& v) { return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<>()); };
    std::vector<Sample> all;
    const auto add = [&](const Tensor& x, int dim, bool keepdim) {
      const unsigned mask = along(x.shape(), dim);
      all.push_back({op<Prod>(dim, keepdim), {x}, by_group(mask, naive), ~0u, longest(x.shape(), mask)});
    };
    add(values({3, 5}), 1, false);
    add(values({3, 5}), 0, true);
    add(values({2, 3, 4}), -2, false);
    add(values({}), 0, false);
    add(values({1}), 0, false);
    add(values({0, 4}), 0, false);
    add(values({4, 0}), 0, true);
    const Tensor zeros = values({3, 4});  // rows with no zero, one and two
    for (const int i : {5, 8, 11}) zeros.data<double>()[i] = 0;
    add(zeros, 1, false);
    return all;
  }
};
template <>
struct Samples<ProdGrad> {
  static std::vector<Sample> list() {
    return {{op<ProdGrad>(1), {values({3, 5}), values({3})}, nullptr, 0},
            {op<ProdGrad>(0), {values({3, 5}), values({1, 5})}, nullptr, 0},
            {op<ProdGrad>(0), {values({}), values({})}, nullptr, 0},
            {op<ProdGrad>(0), {values({0, 4}), values({4})}, nullptr, 0}};
  }
};

/// Calls add(shape, dim) for every shape worth trying by ops that work along one dimension.
template <class Fn>
void for_rows_along(Fn add) {
  add(Shape{3, 5}, 1);
  add(Shape{3, 5}, 0);
  add(Shape{2, 3, 4, 5}, 1);
  add(Shape{2, 3, 4}, -2);
  add(Shape{2, 131}, -1);
  add(Shape{}, 0);
  add(Shape{1}, 0);
  add(Shape{3, 1}, 1);
  add(Shape{0, 4}, 1);
}

template <>
struct Samples<Cumsum> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    const auto add = [&](const Shape& shape, int dim) {
      for (const bool reverse : {false, true}) {
        const auto naive = [reverse](Values v) {
          if (reverse) std::reverse(v.begin(), v.end());
          std::partial_sum(v.begin(), v.end(), v.begin());
          if (reverse) std::reverse(v.begin(), v.end());
          return v;
        };
        const unsigned mask = along(shape, dim);
        all.push_back({op<Cumsum>(dim, reverse), {values(shape)}, by_row(mask, naive), ~0u, longest(shape, mask)});
      }
    };
    for_rows_along(add);
    add({2, 0}, -1);
    return all;
  }
};
template <>
struct Samples<LogSumExp> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for_rows_along([&](const Shape& shape, int dim) {
      const unsigned mask = along(shape, dim);
      all.push_back({op<LogSumExp>(dim, shape.rank() == 2),
                     {values(shape)},
                     by_group(mask, naive_logsumexp),
                     ~0u,
                     longest(shape, mask) + 4});
    });
    return all;
  }
};

inline Values naive_softmax(const Values& v) {
  Values y;
  for (const double x : v) y.push_back(std::exp(x - naive_logsumexp(v)));
  return y;
}
inline Values naive_log_softmax(const Values& v) {
  Values y;
  for (const double x : v) y.push_back(x - naive_logsumexp(v));
  return y;
}
template <class T>
std::vector<Sample> softmax_samples(Values (*naive)(const Values&)) {
  std::vector<Sample> all;
  for_rows_along([&](const Shape& shape, int dim) {
    const unsigned mask = along(shape, dim);
    all.push_back({op<T>(dim), {values(shape)}, by_row(mask, naive), ~0u, longest(shape, mask) + 4});
  });
  return all;
}
template <>
struct Samples<Softmax> {
  static std::vector<Sample> list() { return softmax_samples<Softmax>(naive_softmax); }
};
template <>
struct Samples<LogSoftmax> {
  static std::vector<Sample> list() { return softmax_samples<LogSoftmax>(naive_log_softmax); }
};
template <>
struct Samples<SoftmaxGrad> {
  static std::vector<Sample> list() {
    return {{op<SoftmaxGrad>(1), {values({3, 5}, 0, 1), values({3, 5})}},
            {op<SoftmaxGrad>(0), {values({3, 5}, 0, 1), values({3, 5})}},
            {op<SoftmaxGrad>(0), {values({0, 4}), values({0, 4})}}};
  }
};
template <>
struct Samples<LogSoftmaxGrad> {
  static std::vector<Sample> list() {
    return {{op<LogSoftmaxGrad>(1), {values({3, 5}, -3, 0), values({3, 5})}},
            {op<LogSoftmaxGrad>(0), {values({3, 5}, -3, 0), values({3, 5})}},
            {op<LogSoftmaxGrad>(0), {values({0, 4}), values({0, 4})}}};
  }
};

/// Positions of a group's elements, best first; equal ones in order.
inline std::vector<std::size_t> ranking(const Values& v, bool largest) {
  std::vector<std::size_t> order(v.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return largest ? v[a] > v[b] : v[a] < v[b]; });
  return order;
}
template <>
struct Samples<Extreme> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for_rows_along([&](const Shape& shape, int dim) {
      for (const bool largest : {true, false}) {
        const unsigned mask = along(shape, dim);
        const Reference reference = [=](const std::vector<Tensor>& in) {
          return std::vector<Values>{
              by_group(mask, [=](const Values& v) { return v[ranking(v, largest)[0]]; })(in)[0],
              by_group(mask, [=](const Values& v) { return static_cast<double>(ranking(v, largest)[0]); })(in)[0]};
        };
        all.push_back({op<Extreme>(dim, largest, largest), {distinct(shape)}, reference});
      }
    });
    return all;
  }
};
template <>
struct Samples<ArgExtreme> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for_rows_along([&](const Shape& shape, int dim) {
      for (const bool largest : {true, false})
        all.push_back(
            {op<ArgExtreme>(dim, !largest, largest),
             {distinct(shape)},
             by_group(along(shape, dim), [=](const Values& v) { return static_cast<double>(ranking(v, largest)[0]); }),
             0});
    });
    return all;
  }
};
template <>
struct Samples<ExtremeAll> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{1}, Shape{2, 3, 4, 5}, Shape{131}})
      for (const bool largest : {true, false})
        all.push_back({op<ExtremeAll>(largest),
                       {distinct(shape)},
                       by_group((1u << shape.rank()) - 1, [=](const Values& v) { return v[ranking(v, largest)[0]]; })});
    return all;
  }
};
template <>
struct Samples<TopK> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    const auto add = [&](const Shape& shape, int dim, std::int64_t k, bool largest) {
      Shape result = shape;
      result[dim < 0 ? dim + shape.rank() : dim] = k;
      const Reference reference = [=](const std::vector<Tensor>& in) {
        const Values x = in[0].to_vector<double>();
        const auto from = groups(shape, along(shape, dim)), to = groups(result, along(shape, dim));
        Values values(static_cast<std::size_t>(numel(result))), positions(values.size());
        for (std::size_t g = 0; g < from.size(); ++g) {
          const auto order = ranking(pick(x, from[g]), largest);
          for (std::size_t i = 0; i < to[g].size(); ++i) {
            values[to[g][i]] = x[from[g][order[i]]];
            positions[to[g][i]] = static_cast<double>(order[i]);
          }
        }
        return std::vector<Values>{values, positions};
      };
      all.push_back({op<TopK>(k, dim, largest), {distinct(shape)}, reference});
    };
    add({3, 5}, -1, 2, true);
    add({3, 5}, 0, 2, false);
    add({2, 3, 4}, 1, 3, true);
    add({131}, 0, 17, false);
    add({1}, 0, 1, true);
    add({3, 5}, 1, 0, true);
    add({0, 4}, 1, 2, true);
    return all;
  }
};

}  // namespace reel::test
