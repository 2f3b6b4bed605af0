#pragma once
// The loops of reductions over one output, or over a tile of neighbouring outputs. What is combined
// is described by a reducer R:
//   R::Value        element type of x
//   R::State        what terms are combined in
//   R::kMax         whether states are combined by max (integers) or by +
//   R::kZero        the state of nothing
//   R::term(v, p)   the state of one element, given the parameter of its output (such as its mean)
// Sums are cut in halves again and again down to blocks, so that rounding errors grow with the
// logarithm of the count; where to cut depends on shapes and strides alone, not on threads.
#include <algorithm>

#include "reel/kernels/cpu/reduce_plan_impl.h"

namespace reel::kernels {

inline constexpr std::int64_t kRunBlock = 1024;  // terms combined in one loop
inline constexpr std::int64_t kRowBlock = 64;    // rows combined in one loop
inline constexpr std::int64_t kTile = 256;       // columns combined at once

template <class R>
typename R::State join(typename R::State a, typename R::State b) {
  if constexpr (R::kMax)
    return a > b ? a : b;
  else
    return a + b;
}

/// At most kRunBlock neighbours, in four independent chains.
template <class R>
typename R::State dense_block(const typename R::Value* x, std::int64_t n, typename R::State p) {
  typename R::State s0 = R::kZero, s1 = s0, s2 = s0, s3 = s0;
  std::int64_t i = 0;
  if (n >= 32) {
    const std::int64_t q = n / 4;
    const auto *x1 = x + q, *x2 = x1 + q, *x3 = x2 + q;
    if constexpr (R::kMax) {
#pragma omp simd reduction(max : s0, s1, s2, s3)
      for (std::int64_t k = 0; k < q; ++k) {
        s0 = std::max(s0, R::term(x[k], p));
        s1 = std::max(s1, R::term(x1[k], p));
        s2 = std::max(s2, R::term(x2[k], p));
        s3 = std::max(s3, R::term(x3[k], p));
      }
    } else {
#pragma omp simd reduction(+ : s0, s1, s2, s3)
      for (std::int64_t k = 0; k < q; ++k) {
        s0 += R::term(x[k], p);
        s1 += R::term(x1[k], p);
        s2 += R::term(x2[k], p);
        s3 += R::term(x3[k], p);
      }
    }
    i = 4 * q;
  }
  for (; i < n; ++i) s0 = join<R>(s0, R::term(x[i], p));
  return join<R>(join<R>(s0, s1), join<R>(s2, s3));
}

/// n terms, `step` apart.
template <class R>
typename R::State run(const typename R::Value* x, std::int64_t n, std::int64_t step, typename R::State p) {
  if (n > kRunBlock) {
    const std::int64_t half = (n / 2 + kRunBlock - 1) / kRunBlock * kRunBlock;
    return join<R>(run<R>(x, half, step, p), run<R>(x + half * step, n - half, step, p));
  }
  if (step == 1) return dense_block<R>(x, n, p);
  typename R::State s[4] = {R::kZero, R::kZero, R::kZero, R::kZero};
  for (std::int64_t i = 0; i < n; ++i) s[i & 3] = join<R>(s[i & 3], R::term(x[i * step], p));
  return join<R>(join<R>(s[0], s[1]), join<R>(s[2], s[3]));
}

/// Terms begin ... end - 1 of one output, in the order of the reduced axes.
template <class R>
typename R::State run_range(
    const Axes& a, const typename R::Value* x, std::int64_t begin, std::int64_t end, typename R::State p) {
  const auto& in = a.inner();
  if (a.rank == 1) return run<R>(x + begin * in.x, end - begin, in.x, p);
  const std::int64_t first = begin / in.size, past = (end + in.size - 1) / in.size;  // runs touched
  if (past - first == 1) {
    const Walk w(a, a.rank - 1, first);
    return run<R>(x + w.x + (begin - first * in.size) * in.x, end - begin, in.x, p);
  }
  if (end - begin > kRunBlock) {
    const std::int64_t mid = (first + (past - first) / 2) * in.size;  // between two runs, inside the range
    return join<R>(run_range<R>(a, x, begin, mid, p), run_range<R>(a, x, mid, end, p));
  }
  typename R::State s = R::kZero;
  Walk w(a, a.rank - 1, first);
  for (std::int64_t r = first; r < past; ++r, w.next()) {
    const std::int64_t from = std::max(begin - r * in.size, std::int64_t{0}), to = std::min(end - r * in.size, in.size);
    s = join<R>(s, run<R>(x + w.x + from * in.x, to - from, in.x, p));
  }
  return s;
}

/// acc[j] = acc[j] with terms of `rows` rows, row_step apart, of n columns.
template <class R>
void add_rows(const typename R::Value* x,
              std::int64_t rows,
              std::int64_t row_step,
              std::int64_t n,
              std::int64_t step,
              const typename R::State* p,
              typename R::State* acc) {
  std::int64_t r = 0;
  if (step == 1) {
    for (; r + 4 <= rows; r += 4) {
      const auto *a = x + r * row_step, *b = a + row_step, *c = b + row_step, *d = c + row_step;
#pragma omp simd
      for (std::int64_t j = 0; j < n; ++j) {
        const auto ab = join<R>(R::term(a[j], p[j]), R::term(b[j], p[j]));
        const auto cd = join<R>(R::term(c[j], p[j]), R::term(d[j], p[j]));
        acc[j] = join<R>(acc[j], join<R>(ab, cd));
      }
    }
    for (; r < rows; ++r) {
      const auto* a = x + r * row_step;
#pragma omp simd
      for (std::int64_t j = 0; j < n; ++j) acc[j] = join<R>(acc[j], R::term(a[j], p[j]));
    }
  } else {
    for (; r < rows; ++r)
      for (std::int64_t j = 0; j < n; ++j) acc[j] = join<R>(acc[j], R::term(x[r * row_step + j * step], p[j]));
  }
}

template <class R>
void join_rows(const typename R::State* a, std::int64_t n, typename R::State* acc) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) acc[j] = join<R>(acc[j], a[j]);
}

/// acc[j] = combination of rows begin ... end - 1 of at most kTile columns.
template <class R>
void column_range(const Axes& a,
                  const typename R::Value* x,
                  std::int64_t begin,
                  std::int64_t end,
                  std::int64_t n,
                  std::int64_t step,
                  const typename R::State* p,
                  typename R::State* acc) {
  if (end - begin > kRowBlock) {
    const std::int64_t mid = begin + ((end - begin) / 2 + kRowBlock - 1) / kRowBlock * kRowBlock;
    typename R::State other[kTile];
    column_range<R>(a, x, begin, mid, n, step, p, acc);
    column_range<R>(a, x, mid, end, n, step, p, other);
    join_rows<R>(other, n, acc);
    return;
  }
  std::fill_n(acc, n, R::kZero);
  if (a.rank == 1) return add_rows<R>(x + begin * a.inner().x, end - begin, a.inner().x, n, step, p, acc);
  Walk w(a, a.rank, begin);
  for (std::int64_t r = begin; r < end; ++r, w.next()) add_rows<R>(x + w.x, 1, 0, n, step, p, acc);
}

/// As column_range for few columns whose rows follow each other without a gap: as many rows as fit
/// into a tile are taken as one long row, whose pieces are combined at the end.
template <class R>
void narrow_range(const typename R::Value* x,
                  std::int64_t begin,
                  std::int64_t end,
                  std::int64_t n,
                  const typename R::State* p,
                  typename R::State* acc) {
  const std::int64_t group = kTile / n, wide = group * n, long_rows = (end - begin) / group;
  typename R::State all[kTile], wide_p[kTile];
  for (std::int64_t j = 0; j < wide; ++j) wide_p[j] = p[j % n];
  Axes rows;
  rows.insert({long_rows, wide, 0});
  rows.merge();
  column_range<R>(rows, x + begin * n, 0, long_rows, wide, 1, wide_p, all);
  std::fill_n(acc, n, R::kZero);
  add_rows<R>(x + (begin + long_rows * group) * n, end - begin - long_rows * group, n, n, 1, p, acc);
  for (std::int64_t g = 0; g < group; ++g) join_rows<R>(all + g * n, n, acc);
}

}  // namespace reel::kernels
