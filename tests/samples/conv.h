#pragma once
#include <algorithm>
#include <limits>

#include "reel/autograd/ops/conv.h"
#include "reel/autograd/ops/pool.h"
#include "reel/tests/support/samples.h"

namespace reel::test {

/// Row-major position in a tensor of rank 4.
inline std::size_t at4(const Shape& s, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return static_cast<std::size_t>(((a * s[1] + b) * s[2] + c) * s[3] + d);
}

/// Calls fn(place in x, place in weight, place in y) for every product of conv(x, weight).
template <class Fn>
void for_each_product(const Shape& x, const Shape& w, const Shape& y, const Conv2dOptions& o, const Fn& fn) {
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t c = 0; c < y[1]; ++c)
      for (std::int64_t i = 0; i < y[2]; ++i)
        for (std::int64_t j = 0; j < y[3]; ++j)
          for (std::int64_t k = 0; k < w[1]; ++k)
            for (std::int64_t a = 0; a < w[2]; ++a)
              for (std::int64_t b = 0; b < w[3]; ++b) {
                const std::int64_t row = i * o.stride_h - o.padding_h + a * o.dilation_h;
                const std::int64_t col = j * o.stride_w - o.padding_w + b * o.dilation_w;
                const std::int64_t channel = c / (y[1] / o.groups) * w[1] + k;
                if (row < 0 || row >= x[2] || col < 0 || col >= x[3]) continue;
                fn(at4(x, n, channel, row, col), at4(w, c, k, a, b), at4(y, n, c, i, j));
              }
}

inline Shape conv_shape(const Shape& x, const Shape& w, const Conv2dOptions& o) {
  return {x[0], w[0], (x[2] + 2 * o.padding_h - o.dilation_h * (w[2] - 1) - 1) / o.stride_h + 1,
          (x[3] + 2 * o.padding_w - o.dilation_w * (w[3] - 1) - 1) / o.stride_w + 1};
}
inline Values zeros_of(const Shape& s) {
  return Values(static_cast<std::size_t>(numel(s)));
}

/// Sizes of a convolution that are worth a try: each option alone, all together, odd ones, ones,
/// none.
struct ConvCase {
  Shape x, w;
  Conv2dOptions o;
};
inline std::vector<ConvCase> conv_cases() {
  return {{{2, 3, 5, 6}, {4, 3, 3, 2}, {}},
          {{2, 1, 6, 6}, {16, 1, 3, 3}, Conv2dOptions::same(1, 1)},  // one channel: nhwc is nchw
          {{1, 4, 7, 8}, {6, 2, 3, 3}, {2, 1, 1, 2, 1, 1, 2}},       // groups, unequal strides and padding
          {{2, 3, 9, 7}, {2, 3, 3, 2}, {1, 2, 2, 1, 2, 3, 1}},       // dilation
          {{1, 4, 5, 5}, {4, 1, 3, 3}, {1, 1, 1, 1, 1, 1, 4}},       // one group for each channel
          {{3, 5, 4, 3}, {7, 5, 1, 1}, {}},                          // pointwise
          {{2, 2, 6, 7}, {3, 2, 2, 2}, {3, 3, 0, 0, 1, 1, 1}},       // elements that no window reaches
          {{1, 1, 1, 1}, {1, 1, 1, 1}, {}},
          {{1, 2, 2, 2}, {3, 2, 2, 2}, {1, 1, 2, 3, 1, 1, 1}},  // windows that lie in the padding alone
          {{0, 3, 5, 5}, {2, 3, 3, 3}, {}}};
}

template <>
struct Samples<Conv2d> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const ConvCase& c : conv_cases())
      for (const bool biased : {false, true}) {
        Sample s{op<Conv2d>(c.o), {values(c.x), values(c.w)}};
        if (biased) s.in.push_back(values({c.w[0]}));
        s.reference = [c](const std::vector<Tensor>& in) {
          const Values x = in[0].to_vector<double>(), w = in[1].to_vector<double>();
          const Shape shape = conv_shape(c.x, c.w, c.o);
          Values y = zeros_of(shape);
          for_each_product(c.x, c.w, shape, c.o,
                           [&](std::size_t i, std::size_t j, std::size_t k) { y[k] += x[i] * w[j]; });
          if (in.size() > 2) {
            const Values b = in[2].to_vector<double>();
            const auto pixels = static_cast<std::size_t>(shape[2] * shape[3]);
            for (std::size_t k = 0; k < y.size(); ++k) y[k] += b[k / pixels % b.size()];
          }
          return std::vector<Values>{y};
        };
        s.accumulates = c.w[1] * c.w[2] * c.w[3] + 1;
        all.push_back(std::move(s));
      }
    return all;
  }
};

template <>
struct Samples<ConvTranspose2d> {  // the roles of x and y are those of Conv2d, exchanged
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const ConvCase& c : conv_cases()) {
      const Shape y = conv_shape(c.x, c.w, c.o);
      Sample s{op<ConvTranspose2d>(c.o, c.x[2], c.x[3]), {values(y), values(c.w)}};
      s.reference = [c, y](const std::vector<Tensor>& in) {
        const Values dy = in[0].to_vector<double>(), w = in[1].to_vector<double>();
        Values dx = zeros_of(c.x);
        for_each_product(c.x, c.w, y, c.o, [&](std::size_t i, std::size_t j, std::size_t k) { dx[i] += dy[k] * w[j]; });
        return std::vector<Values>{dx};
      };
      s.accumulates = c.w[0] / c.o.groups * c.w[2] * c.w[3];
      all.push_back(std::move(s));
    }
    return all;
  }
};

template <>
struct Samples<Conv2dWeightGrad> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const ConvCase& c : conv_cases()) {
      const Shape y = conv_shape(c.x, c.w, c.o);
      Sample s{op<Conv2dWeightGrad>(c.o, c.w[2], c.w[3]), {values(c.x), values(y)}};
      s.reference = [c, y](const std::vector<Tensor>& in) {
        const Values x = in[0].to_vector<double>(), dy = in[1].to_vector<double>();
        Values dw = zeros_of(c.w);
        for_each_product(c.x, c.w, y, c.o, [&](std::size_t i, std::size_t j, std::size_t k) { dw[j] += x[i] * dy[k]; });
        return std::vector<Values>{dw};
      };
      s.accumulates = std::max<std::int64_t>(1, y[0] * y[2] * y[3]);
      all.push_back(std::move(s));
    }
    return all;
  }
};

struct PoolCase {
  Shape x;
  Pool2dOptions o;
};
inline std::vector<PoolCase> pool_cases() {
  return {{{2, 3, 4, 6}, {}},                              // 2 x 2, the usual
          {{2, 6, 5, 7}, {}},                              // rows and columns left over; many channels
          {{1, 9, 7, 6}, Pool2dOptions::square(3, 2, 1)},  // windows overlap and hang over
          {{2, 2, 6, 5}, {3, 2, 1, 3, 1, 0, true}},        // unequal
          {{1, 2, 4, 4}, {2, 3, 2, 2, 1, 2, false}},       // padding not counted
          {{1, 1, 20, 18}, {17, 16, 1, 2, 0, 0, true}},    // more than 256 elements in a window
          {{3, 1, 1, 1}, Pool2dOptions::square(1, 1)},
          {{0, 3, 4, 4}, {}}};
}
inline Shape pool_shape(const PoolCase& c) {
  return {c.x[0], c.x[1], (c.x[2] + 2 * c.o.padding_h - c.o.kernel_h) / c.o.stride_h + 1,
          (c.x[3] + 2 * c.o.padding_w - c.o.kernel_w) / c.o.stride_w + 1};
}
/// Calls fn(place in x, place in y, place in the window) for every element of every window.
template <class Fn>
void for_each_in_window(const PoolCase& c, const Fn& fn) {
  const Shape y = pool_shape(c);
  for (std::int64_t n = 0; n < y[0] * y[1]; ++n)
    for (std::int64_t i = 0; i < y[2]; ++i)
      for (std::int64_t j = 0; j < y[3]; ++j)
        for (std::int64_t a = 0; a < c.o.kernel_h; ++a)
          for (std::int64_t b = 0; b < c.o.kernel_w; ++b) {
            const std::int64_t row = i * c.o.stride_h - c.o.padding_h + a, col = j * c.o.stride_w - c.o.padding_w + b;
            if (row >= 0 && row < c.x[2] && col >= 0 && col < c.x[3])
              fn(static_cast<std::size_t>((n * c.x[2] + row) * c.x[3] + col),
                 static_cast<std::size_t>((n * y[2] + i) * y[3] + j), a * c.o.kernel_w + b);
          }
}

template <>
struct Samples<MaxPool2d> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const PoolCase& c : pool_cases())
      all.push_back({op<MaxPool2d>(c.o), {distinct(c.x)}, [c](const std::vector<Tensor>& in) {
                       const Values x = in[0].to_vector<double>();
                       Values y(zeros_of(pool_shape(c)).size(), -std::numeric_limits<double>::infinity()), at = y;
                       for_each_in_window(c, [&](std::size_t i, std::size_t k, std::int64_t place) {
                         if (x[i] > y[k]) y[k] = x[i], at[k] = static_cast<double>(place);
                       });
                       return std::vector<Values>{y, at};
                     }});
    return all;
  }
};
template <>
struct Samples<MaxPool2dGrad> {  // its values are covered by the gradient check of MaxPool2d
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const PoolCase& c : pool_cases()) {
      const Outputs y = apply_all(MaxPool2d(c.o), {distinct(c.x)});
      all.push_back({op<MaxPool2dGrad>(c.o, c.x[2], c.x[3]), {values(pool_shape(c)), y[1]}, nullptr, 0});
    }
    return all;
  }
};

/// How many elements the mean of each output divides by.
inline Values pool_counts(const PoolCase& c) {
  Values count = zeros_of(pool_shape(c));
  for_each_in_window(c, [&](std::size_t, std::size_t k, std::int64_t) { ++count[k]; });
  if (c.o.count_include_pad) std::ranges::fill(count, static_cast<double>(c.o.kernel_h * c.o.kernel_w));
  return count;
}
template <>
struct Samples<AvgPool2d> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const PoolCase& c : pool_cases())
      all.push_back({op<AvgPool2d>(c.o),
                     {values(c.x)},
                     [c](const std::vector<Tensor>& in) {
                       const Values x = in[0].to_vector<double>(), count = pool_counts(c);
                       Values y = zeros_of(pool_shape(c));
                       for_each_in_window(c,
                                          [&](std::size_t i, std::size_t k, std::int64_t) { y[k] += x[i] / count[k]; });
                       return std::vector<Values>{y};
                     },
                     ~0u,
                     c.o.kernel_h * c.o.kernel_w + 1});
    return all;
  }
};
template <>
struct Samples<AvgPool2dGrad> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const PoolCase& c : pool_cases())
      all.push_back({op<AvgPool2dGrad>(c.o, c.x[2], c.x[3]),
                     {values(pool_shape(c))},
                     [c](const std::vector<Tensor>& in) {
                       const Values dy = in[0].to_vector<double>(), count = pool_counts(c);
                       Values dx = zeros_of(c.x);
                       for_each_in_window(
                           c, [&](std::size_t i, std::size_t k, std::int64_t) { dx[i] += dy[k] / count[k]; });
                       return std::vector<Values>{dx};
                     },
                     ~0u,
                     c.o.kernel_h * c.o.kernel_w + 1});
    return all;
  }
};

/// x, and the size of y.
struct EvenCase {
  Shape x;
  std::int64_t h, w;
};
inline std::vector<EvenCase> even_cases() {
  return {{{2, 3, 6, 4}, 3, 2}, {{1, 6, 7, 5}, 3, 4}, {{2, 2, 3, 2}, 5, 3},
          {{1, 8, 5, 5}, 1, 1}, {{1, 1, 1, 1}, 1, 1}, {{0, 2, 3, 3}, 2, 2}};
}
/// The means over windows of elements floor(i h / oh) to ceil((i + 1) h / oh): fn(place in x, place
/// in y, size).
template <class Fn>
void for_each_even(const EvenCase& c, const Fn& fn) {
  const auto low = [](std::int64_t i, std::int64_t n, std::int64_t o) { return i * n / o; };
  const auto high = [](std::int64_t i, std::int64_t n, std::int64_t o) { return ((i + 1) * n + o - 1) / o; };
  for (std::int64_t n = 0; n < c.x[0] * c.x[1]; ++n)
    for (std::int64_t i = 0; i < c.h; ++i)
      for (std::int64_t j = 0; j < c.w; ++j) {
        const std::int64_t a0 = low(i, c.x[2], c.h), a1 = high(i, c.x[2], c.h);
        const std::int64_t b0 = low(j, c.x[3], c.w), b1 = high(j, c.x[3], c.w);
        for (std::int64_t a = a0; a < a1; ++a)
          for (std::int64_t b = b0; b < b1; ++b)
            fn(static_cast<std::size_t>((n * c.x[2] + a) * c.x[3] + b),
               static_cast<std::size_t>((n * c.h + i) * c.w + j), static_cast<double>((a1 - a0) * (b1 - b0)));
      }
}
template <>
struct Samples<AdaptiveAvgPool2d> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const EvenCase& c : even_cases())
      all.push_back({op<AdaptiveAvgPool2d>(c.h, c.w),
                     {values(c.x)},
                     [c](const std::vector<Tensor>& in) {
                       const Values x = in[0].to_vector<double>();
                       Values y = zeros_of({c.x[0], c.x[1], c.h, c.w});
                       for_each_even(c, [&](std::size_t i, std::size_t k, double size) { y[k] += x[i] / size; });
                       return std::vector<Values>{y};
                     },
                     ~0u,
                     c.x[2] * c.x[3] + 1});
    return all;
  }
};
template <>
struct Samples<AdaptiveAvgPool2dGrad> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    for (const EvenCase& c : even_cases())
      all.push_back({op<AdaptiveAvgPool2dGrad>(c.x[2], c.x[3]),
                     {values({c.x[0], c.x[1], c.h, c.w})},
                     [c](const std::vector<Tensor>& in) {
                       const Values dy = in[0].to_vector<double>();
                       Values dx = zeros_of(c.x);
                       for_each_even(c, [&](std::size_t i, std::size_t k, double size) { dx[i] += dy[k] / size; });
                       return std::vector<Values>{dx};
                     },
                     ~0u,
                     c.h * c.w + 1});
    return all;
  }
};

}  // namespace reel::test
