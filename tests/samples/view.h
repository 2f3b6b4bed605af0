#pragma once
#include "reel/autograd/ops/view.h"
#include "reel/core/view.h"
#include "reel/tests/support/samples.h"

namespace reel::test {

/// Row-major index of element `i` of `shape`.
inline Dims index_of(std::int64_t i, const Shape& shape) {
  Dims index = Dims::filled(shape.rank(), 0);
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[d] = i % shape[d];
    i /= shape[d];
  }
  return index;
}
inline std::size_t position_of(const Dims& index, const Shape& shape) {
  std::int64_t at = 0;
  for (int d = 0; d < shape.rank(); ++d) at = at * shape[d] + index[d];
  return static_cast<std::size_t>(at);
}

/// An op that moves elements: `from(index in the output)` gives the index in the input, or false for `fill`.
template <class From>
Reference moving(const Shape& out, const From& from, double fill = 0) {
  return [=](const std::vector<Tensor>& in) {
    const Values x = in[0].to_vector<double>();
    Values y(static_cast<std::size_t>(numel(out)), fill);
    for (std::int64_t i = 0; i < numel(out); ++i) {
      Dims at = index_of(i, out);
      if (from(at)) y[static_cast<std::size_t>(i)] = x[position_of(at, in[0].shape())];
    }
    return std::vector<Values>{y};
  };
}
inline Reference same_values() {
  return [](const std::vector<Tensor>& in) { return std::vector<Values>{in[0].to_vector<double>()}; };
}

template <>
struct Samples<To> {
  static std::vector<Sample> list() {
    return {{op<To>(DType::f64), {values({3, 4})}, same_values()},
            {op<To>(DType::f32), {values({0, 2})}, same_values()},
            {op<To>(DType::f32), {values({5})}, same_values(), 0},
            {op<To>(DType::f16), {values({2, 33})}, same_values(), 0},
            {op<To>(DType::bf16), {values({7})}, same_values(), 0},
            {op<To>(DType::i64), {Tensor::from({4}, {-2, 0, 1, 5}, DType::f64)}, same_values(), 0}};
  }
};
template <>
struct Samples<Contiguous> {
  static std::vector<Sample> list() {
    return {{op<Contiguous>(), {values({3, 4})}, same_values()},
            {op<Contiguous>(), {values({2, 3, 4, 5})}, same_values()},
            {op<Contiguous>(), {values({})}, same_values()}};
  }
};
template <>
struct Samples<Reshape> {
  static std::vector<Sample> list() {
    return {{op<Reshape>(Shape{4, 3}), {values({3, 4})}, same_values()},
            {op<Reshape>(Shape{2, -1, 2}), {values({3, 4})}, same_values()},
            {op<Reshape>(Shape{}), {values({1, 1})}, same_values()},
            {op<Reshape>(Shape{3, 0}), {values({0, 7})}, same_values()},
            {op<Reshape>(Shape{1, 24, 1}), {values({2, 3, 4})}, same_values()}};
  }
};
template <>
struct Samples<Permute> {
  static std::vector<Sample> list() {
    return {{op<Permute>(Dims{1, 0}),
             {values({3, 4})},
             moving({4, 3},
                    [](Dims& i) {
                      i = {i[1], i[0]};
                      return true;
                    })},
            {op<Permute>(Dims{2, 0, 1}),
             {values({2, 3, 4})},
             moving({4, 2, 3},
                    [](Dims& i) {
                      i = {i[1], i[2], i[0]};
                      return true;
                    })},
            {op<Permute>(Dims{-1, 0}), {values({0, 4})}, moving({4, 0}, [](Dims&) { return true; })}};
  }
};
template <>
struct Samples<Expand> {
  static std::vector<Sample> list() {
    return {{op<Expand>(Shape{3, 4}),
             {values({3, 1})},
             moving({3, 4},
                    [](Dims& i) {
                      i[1] = 0;
                      return true;
                    })},
            {op<Expand>(Shape{2, 3}),
             {values({3})},
             moving({2, 3},
                    [](Dims& i) {
                      i = {i[1]};
                      return true;
                    })},
            {op<Expand>(Shape{2, 2}),
             {values({})},
             moving({2, 2},
                    [](Dims& i) {
                      i = {};
                      return true;
                    })},
            {op<Expand>(Shape{0, 3}), {values({1, 3})}, moving({0, 3}, [](Dims&) { return true; })}};
  }
};
template <>
struct Samples<Slice> {
  static std::vector<Sample> list() {
    return {{op<Slice>(0, 1, 3, 1),
             {values({4, 3})},
             moving({2, 3},
                    [](Dims& i) {
                      i[0] += 1;
                      return true;
                    })},
            {op<Slice>(1, 0, 5, 2),
             {values({2, 5})},
             moving({2, 3},
                    [](Dims& i) {
                      i[1] *= 2;
                      return true;
                    })},
            {op<Slice>(1, 1, 5, 3),
             {values({2, 5})},
             moving({2, 2},
                    [](Dims& i) {
                      i[1] = 1 + 3 * i[1];
                      return true;
                    })},
            {op<Slice>(0, 2, 2, 1), {values({4, 3})}, moving({0, 3}, [](Dims&) { return true; })}};
  }
};
template <>
struct Samples<SliceGrad> {
  static std::vector<Sample> list() {
    return {{op<SliceGrad>(Shape{4, 3}, Slice(0, 1, 3, 1)),
             {values({2, 3})},
             moving({4, 3},
                    [](Dims& i) {
                      i[0] -= 1;
                      return i[0] >= 0 && i[0] < 2;
                    })},
            {op<SliceGrad>(Shape{2, 5}, Slice(1, 0, 5, 2)), {values({2, 3})}, moving({2, 5}, [](Dims& i) {
               const bool hit = i[1] % 2 == 0;
               i[1] /= 2;
               return hit;
             })}};
  }
};
template <>
struct Samples<Concat> {
  static std::vector<Sample> list() {
    const auto joined = [](int dim) -> Reference {
      return [dim](const std::vector<Tensor>& in) {
        Shape out = in[0].shape();
        for (std::size_t k = 1; k < in.size(); ++k) out[dim] += in[k].shape()[dim];
        Values y;
        for (std::int64_t i = 0; i < numel(out); ++i) {
          Dims at = index_of(i, out);
          std::size_t k = 0;
          while (at[dim] >= in[k].shape()[dim]) at[dim] -= in[k++].shape()[dim];
          y.push_back(in[k].to_vector<double>()[position_of(at, in[k].shape())]);
        }
        return std::vector<Values>{y};
      };
    };
    Sample many{op<Concat>(0), {}, joined(0)};
    for (int i = 0; i < 11; ++i) many.in.push_back(values({1 + i % 3, 2}));
    return {{op<Concat>(1), {values({2, 3}), values({2, 1}), values({2, 0})}, joined(1)},
            {op<Concat>(0), {values({2, 3})}, joined(0)},
            {op<Concat>(-1), {values({2, 2, 1}), values({2, 2, 2})}, joined(2)},
            many};
  }
};
template <>
struct Samples<Flip> {
  static std::vector<Sample> list() {
    return {{op<Flip>(0),
             {values({4, 3})},
             moving({4, 3},
                    [](Dims& i) {
                      i[0] = 3 - i[0];
                      return true;
                    })},
            {op<Flip>(-1),
             {values({2, 5})},
             moving({2, 5},
                    [](Dims& i) {
                      i[1] = 4 - i[1];
                      return true;
                    })},
            {op<Flip>(1), {values({2, 0})}, moving({2, 0}, [](Dims&) { return true; })}};
  }
};
template <>
struct Samples<Pad> {
  static std::vector<Sample> list() {
    using P = std::vector<std::pair<std::int64_t, std::int64_t>>;
    const auto inside = [](std::int64_t before, std::int64_t n, std::int64_t& i) {
      i -= before;
      return i >= 0 && i < n;
    };
    return {{op<Pad>(P{{1, 2}, {0, 1}}, 0.5),
             {values({2, 3})},
             moving(
                 {5, 4}, [=](Dims& i) { return inside(1, 2, i[0]) && inside(0, 3, i[1]); }, 0.5)},
            {op<Pad>(P{{0, 0}}, 0), {values({4})}, same_values()},
            {op<Pad>(P{{1, 1}}, -1),
             {values({0})},
             moving(
                 {2}, [](Dims&) { return false; }, -1)}};
  }
};
template <>
struct Samples<Triangle> {
  static std::vector<Sample> list() {
    const auto part = [](Shape s, bool upper, std::int64_t diagonal) -> Sample {
      const int r = s.rank();
      return {op<Triangle>(upper, diagonal), {values(s)}, moving(s, [=](Dims& i) {
                const std::int64_t d = i[r - 1] - i[r - 2];
                return upper ? d >= diagonal : d <= diagonal;
              })};
    };
    return {part({3, 4}, false, 0), part({3, 4}, true, 0),  part({4, 3}, false, -1), part({2, 3, 3}, true, 1),
            part({3, 3}, false, 7), part({3, 3}, true, -7), part({0, 3}, false, 0)};
  }
};

}  // namespace reel::test
