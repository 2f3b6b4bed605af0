#pragma once
// Passes over x [n, c, ...] with one set of numbers for each channel, or for each (sample,
// channel), of which a row of planes is made: the statistics, the normalisation and the two passes
// of its gradient. A plane lies either in one piece (row-major) or as a column among c (channels
// last).
#include "reel/kernels/cpu/channel_loops_impl.h"
#include "reel/kernels/cpu/wide_row_impl.h"

namespace reel::kernels {

/// n samples of c planes of s elements. Where `last`, memory is [n, s, c], else [n, c, s].
struct Planes {
  std::int64_t n = 0, c = 0, s = 1;
  bool last = false;
  std::int64_t count() const { return n * c; }
};
inline Planes planes_of(const View& x) {
  Planes p{x.shape[0], x.shape[1], 1, x.layout == Layout::channels_last};
  for (int d = 2; d < x.rank(); ++d) p.s *= x.shape[d];
  p.last |= p.s == 1;
  return p;
}
/// Where all samples share their numbers and lie in one piece, they are one tall sample.
inline Planes merged(Planes p) {
  if (p.last) {
    p.s *= p.n;
    p.n = 1;
  }
  return p;
}

/// Few channels would leave vector lanes idle: several rows of c are walked as one of `width`.
struct Columns {
  std::int64_t c, width;
  explicit Columns(std::int64_t channels) : c(channels), width(channels >= 64 ? channels : 64 / channels * channels) {}
  template <class A>
  std::vector<A> tiled(const A* values) const {
    std::vector<A> t(static_cast<std::size_t>(width));
    for (std::int64_t i = 0; i < width; i += c) std::copy_n(values, c, t.data() + i);
    return t;
  }
  template <class A>
  void fold(const A* wide, A* values) const {
    std::copy_n(wide, c, values);
    for (std::int64_t i = c; i < width; i += c)
      for (std::int64_t j = 0; j < c; ++j) values[j] += wide[i + j];
  }
};

/// Walks `rows` rows of cols.c numbers as rows of cols.width: calls fn.operator()<R>(offset, n) for
/// R rows of n at once.
template <class Fn>
void for_each_piece(const Columns& cols, std::int64_t rows, const Fn& fn) {
  const std::int64_t total = rows * cols.c;
  std::int64_t i = 0;
  for (; i + 8 * cols.width <= total; i += 8 * cols.width) fn.template operator()<8>(i, cols.width);
  for (; i < total; i += cols.width) fn.template operator()<1>(i, std::min(cols.width, total - i));
}

/// Runs fn(sample, first row, rows, piece) for runs of rows of channels-last memory, and returns
/// the number of runs in a sample: piece = sample * runs + run.
inline std::int64_t runs_of(const Planes& p) {
  return (p.s + rows_per_piece(p.c) - 1) / rows_per_piece(p.c);
}
template <class Fn>
void for_each_run(const Planes& p, const Fn& fn) {
  const std::int64_t runs = runs_of(p), rows = rows_per_piece(p.c);
  // Small samples are taken together, so that a piece of parallel work stays worth its while.
  const std::int64_t grain =
      std::max<std::int64_t>(1, kWideGrain / std::max<std::int64_t>(1, std::min(rows, p.s) * p.c));
  parallel_for(p.n * runs, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) fn(k / runs, k % runs * rows, std::min(rows, p.s - k % runs * rows), k);
  });
}

/// Mean and sum of squared distances from it, of `count` numbers. Merged as in Chan, Golub and
/// LeVeque 1979.
struct Moments {
  double count = 0, mean = 0, m2 = 0;
  double var() const { return count > 0 ? m2 / count : 0; }  // biased
  void add(const Moments& o) {
    if (o.count == 0) return;
    const double total = count + o.count, delta = o.mean - mean, part = o.count / total;
    mean += delta * part;
    m2 += o.m2 + delta * delta * count * part;
    count = total;
  }
};

/// From sums of deviations about a rounded mean: what the rounding left is put back, in double.
inline Moments moments_about(double pivot, double count, double sum, double squares) {
  if (count == 0) return {};
  return {count, pivot + sum / count, std::max(0.0, squares - sum * (sum / count))};
}

/// The moments of every plane, [n * c]. Each piece of memory is read twice while it is in the
/// cache.
template <class T, class A = Acc<T>>
void plane_moments(const T* x, const Planes& p, Moments* out) {
  if (!p.last) {
    parallel_for(p.count(), rows_per_piece(p.s), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        const A pivot = p.s ? sum_one<T, A>(x + k * p.s, p.s) / static_cast<A>(p.s) : A(0);
        A sum, squares;
        deviations_one(x + k * p.s, pivot, sum, squares, p.s);
        out[k] = moments_about(pivot, static_cast<double>(p.s), sum, squares);
      }
    });
    return;
  }
  if (p.count() == 0) return;
  const Columns cols(p.c);
  const std::int64_t runs = runs_of(p);
  std::vector<Moments> part(static_cast<std::size_t>(p.n * runs * p.c));
  for_each_run(p, [&](std::int64_t n, std::int64_t row, std::int64_t rows, std::int64_t piece) {
    const T* const at = x + (n * p.s + row) * p.c;
    std::vector<A> wide(static_cast<std::size_t>(cols.width)), wide_squares(wide), pivot(static_cast<std::size_t>(p.c)),
        sum(pivot), squares(pivot);
    for_each_piece(cols, rows, [&]<int R>(std::int64_t i, std::int64_t k) { sum_columns<R>(at + i, wide.data(), k); });
    cols.fold(wide.data(), pivot.data());
    for (A& m : pivot) m /= static_cast<A>(rows);
    const std::vector<A> centre = cols.tiled(pivot.data());
    std::ranges::fill(wide, A(0));
    for_each_piece(cols, rows, [&]<int R>(std::int64_t i, std::int64_t k) {
      deviations_columns<R>(at + i, centre.data(), wide.data(), wide_squares.data(), k);
    });
    cols.fold(wide.data(), sum.data());
    cols.fold(wide_squares.data(), squares.data());
    for (std::size_t j = 0; j < pivot.size(); ++j)
      part[static_cast<std::size_t>(piece * p.c) + j] =
          moments_about(pivot[j], static_cast<double>(rows), sum[j], squares[j]);
  });
  for (std::int64_t n = 0; n < p.n; ++n) {
    std::fill_n(out + n * p.c, p.c, Moments{});
    for (std::int64_t r = 0; r < runs; ++r)
      for (std::int64_t j = 0; j < p.c; ++j)
        out[n * p.c + j].add(part[static_cast<std::size_t>((n * runs + r) * p.c + j)]);
  }
}

/// y = (x - m) a + b, with plane k reading number k % tables.
template <class T, class A = Acc<T>>
void plane_affine(const T* x, const Planes& p, std::int64_t tables, const A* m, const A* a, const A* b, T* y) {
  if (!p.last) {
    parallel_for(p.count(), rows_per_piece(p.s), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k)
        affine_one(x + k * p.s, m[k % tables], a[k % tables], b[k % tables], y + k * p.s, p.s);
    });
    return;
  }
  if (p.count() == 0) return;
  const Columns cols(p.c);
  for_each_run(p, [&](std::int64_t n, std::int64_t row, std::int64_t rows, std::int64_t) {
    const std::int64_t at = (n * p.s + row) * p.c, from = n * p.c % tables;
    const auto ms = cols.tiled(m + from), as = cols.tiled(a + from), bs = cols.tiled(b + from);
    for_each_piece(cols, rows, [&]<int R>(std::int64_t i, std::int64_t k) {
      affine_columns<R>(x + at + i, ms.data(), as.data(), bs.data(), y + at + i, k);
    });
  });
}

/// For every plane, [n * c]: the sums of dy and of dy (x - m).
template <class T, class A = Acc<T>>
void plane_products(const T* x, const T* dy, const Planes& p, std::int64_t tables, const A* m, A* sum, A* product) {
  if (!p.last) {
    parallel_for(p.count(), rows_per_piece(p.s), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k)
        products_one(x + k * p.s, dy + k * p.s, m[k % tables], sum[k], product[k], p.s);
    });
    return;
  }
  if (p.count() == 0) return;
  const Columns cols(p.c);
  const std::int64_t runs = runs_of(p);
  std::vector<A> part(static_cast<std::size_t>(p.n * runs * 2 * p.c));
  for_each_run(p, [&](std::int64_t n, std::int64_t row, std::int64_t rows, std::int64_t piece) {
    const std::int64_t at = (n * p.s + row) * p.c;
    const std::vector<A> centre = cols.tiled(m + n * p.c % tables);
    std::vector<A> s(static_cast<std::size_t>(cols.width)), q(s);
    for_each_piece(cols, rows, [&]<int R>(std::int64_t i, std::int64_t k) {
      products_columns<R>(x + at + i, dy + at + i, centre.data(), s.data(), q.data(), k);
    });
    cols.fold(s.data(), part.data() + piece * 2 * p.c);
    cols.fold(q.data(), part.data() + piece * 2 * p.c + p.c);
  });
  std::fill_n(sum, p.count(), A(0));
  std::fill_n(product, p.count(), A(0));
  for (std::int64_t piece = 0; piece < p.n * runs; ++piece) {
    const A* const from = part.data() + piece * 2 * p.c;
    sum_columns<1>(from, sum + piece / runs * p.c, p.c);
    sum_columns<1>(from + p.c, product + piece / runs * p.c, p.c);
  }
}

/// dx = a dy + b (x - m) + k
template <class T, class A = Acc<T>>
void plane_gradient(const T* x,
                    const T* dy,
                    const Planes& p,
                    std::int64_t tables,
                    const A* m,
                    const A* a,
                    const A* b,
                    const A* k,
                    T* dx) {
  if (!p.last) {
    parallel_for(p.count(), rows_per_piece(p.s), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t t = i % tables;
        gradient_one(x + i * p.s, dy + i * p.s, m[t], a[t], b[t], k[t], dx + i * p.s, p.s);
      }
    });
    return;
  }
  if (p.count() == 0) return;
  const Columns cols(p.c);
  for_each_run(p, [&](std::int64_t n, std::int64_t row, std::int64_t rows, std::int64_t) {
    const std::int64_t at = (n * p.s + row) * p.c, from = n * p.c % tables;
    const auto ms = cols.tiled(m + from), as = cols.tiled(a + from), bs = cols.tiled(b + from),
               ks = cols.tiled(k + from);
    for_each_piece(cols, rows, [&]<int R>(std::int64_t i, std::int64_t w) {
      gradient_columns<R>(x + at + i, dy + at + i, ms.data(), as.data(), bs.data(), ks.data(), dx + at + i, w);
    });
  });
}

}  // namespace reel::kernels
