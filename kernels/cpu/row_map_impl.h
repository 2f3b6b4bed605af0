#pragma once
// Kernels that turn rows into rows along any dimension of any strides. R says what is done:
//   R::row(in, out, n)               one dense row of the type that is computed in
//   R::short_rows(in, out, n, rows)  several, one after the other, kRowsBlock numbers at most
// Rows of half types, and rows that are not dense, are converted into a buffer first and back at
// the end.
#include "reel/kernels/cpu/reduce_rows_impl.h"

namespace reel::kernels {

inline constexpr std::int64_t kRowsBlock = 1024;  // numbers of short rows taken together
inline constexpr std::int64_t kShortRow = 64;     // rows below this length are short
inline constexpr std::int64_t kRowGroup = 16;     // rows with gaps, or short, converted together

/// Runs R on `rows` dense rows that follow each other.
template <class R, class A, std::size_t N>
void dense_rows(std::array<const A*, N> in, A* out, std::int64_t n, std::int64_t rows) {
  const std::int64_t together = n < kShortRow ? kRowsBlock / n : 1;
  for (std::int64_t r = 0; r < rows; r += together) {
    if (n < kShortRow)
      R::template short_rows<A>(in, out, n, std::min(together, rows - r));
    else
      R::template row<A>(in, out, n);
    for (auto& p : in) p += together * n;
    out += together * n;
  }
}

template <class T, class A>
void gather_row(const T* x, A* to, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i] = convert<A>(x[i]);
}

/// Runs R on every row along `dim`; N inputs of one shape.
template <class R, class T, std::size_t N>
void rows_to_rows(const std::array<const View*, N>& in, const View& y, int dim) {
  using A = Acc<T>;
  if (y.numel == 0) return;
  const std::int64_t n = row_size(y, dim), out_step = row_step(y, dim);
  bool plain = std::is_same_v<T, A> && y.contiguous() && dim + 1 >= y.rank();  // dense rows one after the other
  std::array<std::int64_t, N> step;
  for (std::size_t k = 0; k < N; ++k) {
    step[k] = row_step(*in[k], dim);
    plain = plain && in[k]->contiguous();
  }
  if constexpr (std::is_same_v<T, A>) {
    if (plain) {  // the common case needs no plan and no buffer
      parallel_for(y.numel / n, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
        std::array<const A*, N> p;
        for (std::size_t k = 0; k < N; ++k) p[k] = in[k]->template as<T>() + begin * n;
        dense_rows<R, A, N>(p, y.as<T>() + begin * n, n, end - begin);
      });
      return;
    }
  }
  std::array<View, N + 1> v;  // the output first
  std::array<const View*, N + 1> views;
  for (std::size_t k = 0; k <= N; ++k) {
    v[k] = without(k == 0 ? y : *in[k - 1], dim);
    views[k] = &v[k];
  }
  const bool gaps = out_step != 1 || std::ranges::any_of(step, [](std::int64_t s) { return s != 1; });
  for_rows<N + 1>(views, n, [&](const auto& next, std::int64_t count) {
    const std::int64_t most = gaps || n < kShortRow ? std::min(kRowGroup, count) : 1;
    RowBuffer<A> buffer(static_cast<std::int64_t>(N) * most * n);
    std::array<std::int64_t, N + 1> at[kRowGroup];
    for (std::int64_t r = 0; r < count; r += most) {
      const std::int64_t rows = std::min(most, count - r);
      for (std::int64_t b = 0; b < rows; ++b) at[b] = next();
      std::array<const A*, N> p;
      for (std::size_t k = 0; k < N; ++k) {
        const T* x = in[k]->template as<T>();
        A* to = buffer.data() + static_cast<std::int64_t>(k) * most * n;
        p[k] = to;
        if (step[k] == 1) {
          for (std::int64_t b = 0; b < rows; ++b) gather_row(x + at[b][k + 1], to + b * n, n);
        } else {
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t b = 0; b < rows; ++b) to[b * n + i] = convert<A>(x[at[b][k + 1] + i * step[k]]);
        }
      }
      A* out = buffer.data();  // a row may be computed in place of its first input
      dense_rows<R, A, N>(p, out, n, rows);
      if (out_step == 1) {
        for (std::int64_t b = 0; b < rows; ++b) gather_row(out + b * n, y.as<T>() + at[b][0], n);
      } else {
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t b = 0; b < rows; ++b) y.as<T>()[at[b][0] + i * out_step] = convert<T>(out[b * n + i]);
      }
    }
  });
}

}  // namespace reel::kernels
