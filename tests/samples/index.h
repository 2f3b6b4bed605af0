#pragma once
#include "reel/autograd/ops/dropout.h"
#include "reel/autograd/ops/index.h"
#include "reel/core/philox.h"
#include "reel/tests/support/samples.h"

namespace reel::test {

/// Row-major position of an index.
inline std::size_t flat_position(const Shape& shape, const Dims& index) {
  std::int64_t at = 0;
  for (int d = 0; d < shape.rank(); ++d) at = at * shape[d] + index[d];
  return static_cast<std::size_t>(at);
}
/// The index at a row-major position.
inline Dims index_at(const Shape& shape, std::int64_t position) {
  Dims index = Dims::filled(shape.rank(), 0);
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[d] = position % shape[d];
    position /= shape[d];
  }
  return index;
}

/// fn(position in x or out, position in y) for each element that index_select moves.
template <class Fn>
void for_each_selected(const Shape& x, int dim, const std::vector<std::int64_t>& indices, const Fn& fn) {
  Shape y = x;
  y[dim] = static_cast<std::int64_t>(indices.size());
  for (std::int64_t i = 0; i < numel(y); ++i) {
    Dims at = index_at(y, i);
    at[dim] = indices[static_cast<std::size_t>(at[dim])];
    fn(flat_position(x, at), static_cast<std::size_t>(i));
  }
}
/// fn(position in x or out, position in y of shape `y`) for each element that gather moves.
template <class Fn>
void for_each_gathered(const Shape& x, int dim, const Tensor& indices, const Shape& y, const Fn& fn) {
  const auto values_of = indices.to_vector<std::int64_t>();
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    Dims at = index_at(indices.shape(), i);
    const std::size_t from = flat_position(y, at);
    at[dim] = values_of[static_cast<std::size_t>(i)];
    fn(flat_position(x, at), from);
  }
}
inline Tensor as_i32(const Tensor& t) {
  return Tensor::from<std::int64_t>(t.shape(), t.to_vector<std::int64_t>(), DType::i32);
}

template <>
struct Samples<Embedding> {
  static std::vector<Sample> list() {
    const Reference reference = [](const std::vector<Tensor>& in) {
      const Values w = in[0].to_vector<double>();
      const auto d = static_cast<std::size_t>(in[0].shape()[1]);
      Values y;
      for (const std::int64_t i : in[1].to_vector<std::int64_t>())
        for (std::size_t k = 0; k < d; ++k) y.push_back(w[static_cast<std::size_t>(i) * d + k]);
      return std::vector<Values>{y};
    };
    return {{op<Embedding>(), {values({5, 3}), indices({7}, 5)}, reference, ~0u, 7},
            {op<Embedding>(), {values({4, 33}), indices({2, 3}, 4)}, reference, ~0u, 6},
            {op<Embedding>(), {values({1, 1}), indices({}, 1)}, reference},
            {op<Embedding>(), {values({3, 2}), as_i32(indices({2, 2, 2}, 3))}, reference, ~0u, 8},
            {op<Embedding>(), {values({3, 2}), indices({0}, 3)}, reference},
            {op<Embedding>(), {values({0, 2}), indices({2, 0}, 1)}, reference}};
  }
};
template <>
struct Samples<EmbeddingGrad> {
  static std::vector<Sample> list() {
    const auto make = [](std::int64_t rows, const Tensor& index, std::int64_t d) -> Sample {
      Shape shape = index.shape();
      shape.push_back(d);
      return {op<EmbeddingGrad>(rows),
              {index, values(shape)},
              [=](const std::vector<Tensor>& in) {
                const Values dy = in[1].to_vector<double>();
                Values dw(static_cast<std::size_t>(rows * d));
                std::size_t j = 0;
                for (const std::int64_t i : in[0].to_vector<std::int64_t>())
                  for (std::int64_t k = 0; k < d; ++k) dw[static_cast<std::size_t>(i * d + k)] += dy[j++];
                return std::vector<Values>{dw};
              },
              ~0u,
              std::max<std::int64_t>(1, index.numel())};
    };
    return {make(4, indices({9}, 4), 3), make(3, indices({2, 3}, 2), 5), make(2, as_i32(indices({}, 2)), 1),
            make(3, indices({0}, 1), 2)};
  }
};

template <>
struct Samples<IndexSelect> {
  static std::vector<Sample> list() {
    const auto make = [](const Shape& shape, int dim, const Tensor& index) -> Sample {
      return {op<IndexSelect>(dim),
              {values(shape), index},
              [dim](const std::vector<Tensor>& in) {
                const Values x = in[0].to_vector<double>();
                Values y;
                for_each_selected(in[0].shape(), dim, in[1].to_vector<std::int64_t>(),
                                  [&](std::size_t from, std::size_t) { y.push_back(x[from]); });
                return std::vector<Values>{y};
              },
              ~0u,
              std::max<std::int64_t>(1, index.numel())};
    };
    return {make({5, 3}, 0, indices({4}, 5)),       make({3, 5}, 1, indices({7}, 5)),
            make({2, 3, 4, 2}, 2, indices({3}, 4)), make({2, 3, 4}, 1, as_i32(indices({5}, 3))),
            make({1}, 0, indices({1}, 1)),          make({3, 2}, 0, indices({0}, 3)),
            make({0, 2}, 1, indices({3}, 2))};
  }
};
template <>
struct Samples<IndexAdd> {
  static std::vector<Sample> list() {
    const auto make = [](const Shape& shape, int dim, const Tensor& index) -> Sample {
      Shape added = shape;
      added[dim] = index.numel();
      return {op<IndexAdd>(dim),
              {values(shape), index, values(added)},
              [dim](const std::vector<Tensor>& in) {
                Values x = in[0].to_vector<double>();
                const Values y = in[2].to_vector<double>();
                for_each_selected(in[0].shape(), dim, in[1].to_vector<std::int64_t>(),
                                  [&](std::size_t to, std::size_t from) { x[to] += y[from]; });
                return std::vector<Values>{x};
              },
              ~0u,
              index.numel() + 1};
    };
    return {make({5, 3}, 0, indices({9}, 5)),
            make({3, 4}, 1, indices({7}, 4)),
            make({2, 3, 2, 2}, 1, as_i32(indices({4}, 3))),
            make({1}, 0, indices({1}, 1)),
            make({3, 2}, 0, indices({0}, 3)),
            make({0, 2}, 1, indices({3}, 2))};
  }
};

template <>
struct Samples<Gather> {
  static std::vector<Sample> list() {
    const auto make = [](const Shape& shape, int dim, const Tensor& index) -> Sample {
      return {op<Gather>(dim),
              {values(shape), index},
              [dim](const std::vector<Tensor>& in) {
                const Values x = in[0].to_vector<double>();
                Values y;
                for_each_gathered(in[0].shape(), dim, in[1], in[1].shape(),
                                  [&](std::size_t from, std::size_t) { y.push_back(x[from]); });
                return std::vector<Values>{y};
              },
              ~0u,
              std::max<std::int64_t>(1, index.numel())};
    };
    return {make({4, 3}, 0, indices({6, 3}, 4)),
            make({4, 5}, 1, indices({3, 2}, 5)),
            make({2, 3, 4, 2}, 2, as_i32(indices({2, 2, 5, 1}, 4))),
            make({5}, 0, indices({7}, 5)),
            make({3, 2}, 0, indices({0, 2}, 3)),
            make({2, 3, 4}, 0, indices({1, 3, 4}, 2))};
  }
};
template <>
struct Samples<ScatterAdd> {
  static std::vector<Sample> list() {
    const auto make = [](const Shape& shape, int dim, const Tensor& index, const Shape& added) -> Sample {
      return {op<ScatterAdd>(dim),
              {values(shape), index, values(added)},
              [dim](const std::vector<Tensor>& in) {
                Values x = in[0].to_vector<double>();
                const Values y = in[2].to_vector<double>();
                for_each_gathered(in[0].shape(), dim, in[1], in[2].shape(),
                                  [&](std::size_t to, std::size_t from) { x[to] += y[from]; });
                return std::vector<Values>{x};
              },
              ~0u,
              index.numel() + 1};
    };
    return {make({4, 3}, 0, indices({6, 3}, 4), {6, 3}), make({4, 5}, 1, indices({3, 2}, 5), {4, 3}),
            make({2, 3, 4, 2}, 2, as_i32(indices({2, 2, 5, 1}, 4)), {2, 2, 5, 1}), make({5}, 0, indices({7}, 5), {8}),
            make({3, 2}, 0, indices({0, 2}, 3), {0, 2})};
  }
};

template <>
struct Samples<Dropout> {
  static Sample make(const Shape& shape, double p, std::uint64_t seed = 5, std::uint64_t position = 1000) {
    return {op<Dropout>(p, seed, position), {values(shape)}, [=](const std::vector<Tensor>& in) {
              Values y = in[0].to_vector<double>();
              for (std::size_t i = 0; i < y.size(); ++i) {
                const Philox4 words = philox_block(seed, position + i / 4);
                y[i] = static_cast<double>(to_uniform(words[i % 4])) < p ? 0 : y[i] / (1 - p);
              }
              return std::vector<Values>{y};
            }};
  }
  static std::vector<Sample> list() {
    return {make({3, 5}, 0.3), make({2, 3, 4, 4}, 0.5),
            make({}, 0.5),     make({131}, 0.1, std::uint64_t{1} << 60, std::uint64_t{1} << 40),
            make({0, 4}, 0.5), make({7}, 0),
            make({7}, 1),      make({1023}, 0.9)};
  }
};

}  // namespace reel::test
