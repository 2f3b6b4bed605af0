#pragma once
// Passes over x [n, c, ...] with one set of numbers for each channel, or for each (sample, channel), of
// which a row of planes is made: the statistics, the normalisation and the two passes of its gradient.
// A plane lies either in one piece (row-major) or as a column among c (channels last).
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

// Loops over one piece of memory: `one` number for all elements, or a number each (`columns`).

template <class T, class A>
A sum_one(const T* x, std::int64_t n) {
  A s = 0;
#pragma omp simd reduction(+ : s)
  for (std::int64_t i = 0; i < n; ++i) s += convert<A>(x[i]);
  return s;
}
/// Sums of x - m and of its square: the first shows what rounding left of the mean m.
template <class T, class A>
void deviations_one(const T* x, A m, A& sum, A& squares, std::int64_t n) {
  A s = 0, q = 0;
#pragma omp simd reduction(+ : s, q)
  for (std::int64_t i = 0; i < n; ++i) {
    s += convert<A>(x[i]) - m;
    q += (convert<A>(x[i]) - m) * (convert<A>(x[i]) - m);
  }
  sum = s;
  squares = q;
}
template <class T, class A>
void products_one(const T* x, const T* dy, A m, A& sum, A& product, std::int64_t n) {
  A s = 0, p = 0;
#pragma omp simd reduction(+ : s, p)
  for (std::int64_t i = 0; i < n; ++i) {
    s += convert<A>(dy[i]);
    p += convert<A>(dy[i]) * (convert<A>(x[i]) - m);
  }
  sum = s;
  product = p;
}
template <class T, class A>
void affine_one(const T* x, A m, A a, A b, T* y, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = convert<T>((convert<A>(x[i]) - m) * a + b);
}
template <class T, class A>
void gradient_one(const T* x, const T* dy, A m, A a, A b, A k, T* dx, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    dx[i] = convert<T>(a * convert<A>(dy[i]) + (b * (convert<A>(x[i]) - m) + k));
}

// The same for columns: R rows of n numbers each, one after the other in memory.

template <int R, class T, class A>
void sum_columns(const T* x, A* s, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    A t = s[i];
    for (int r = 0; r < R; ++r) t += convert<A>(x[r * n + i]);
    s[i] = t;
  }
}
template <int R, class T, class A>
void deviations_columns(const T* x, const A* m, A* s, A* q, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    A t = s[i], u = q[i];
    for (int r = 0; r < R; ++r) {
      const A d = convert<A>(x[r * n + i]) - m[i];
      t += d;
      u += d * d;
    }
    s[i] = t;
    q[i] = u;
  }
}
template <int R, class T, class A>
void products_columns(const T* x, const T* dy, const A* m, A* s, A* p, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    A t = s[i], u = p[i];
    for (int r = 0; r < R; ++r) {
      const A d = convert<A>(dy[r * n + i]);
      t += d;
      u += d * (convert<A>(x[r * n + i]) - m[i]);
    }
    s[i] = t;
    p[i] = u;
  }
}
template <int R, class T, class A>
void affine_columns(const T* x, const A* m, const A* a, const A* b, T* y, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    for (int r = 0; r < R; ++r) y[r * n + i] = convert<T>((convert<A>(x[r * n + i]) - m[i]) * a[i] + b[i]);
}
template <int R, class T, class A>
void gradient_columns(const T* x, const T* dy, const A* m, const A* a, const A* b, const A* k, T* dx, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    for (int r = 0; r < R; ++r)
      dx[r * n + i] = convert<T>(a[i] * convert<A>(dy[r * n + i]) + (b[i] * (convert<A>(x[r * n + i]) - m[i]) + k[i]));
}

/// Walks `rows` rows of cols.c numbers as rows of cols.width: calls fn.operator()<R>(offset, n) for R rows of n at once.
template <class Fn>
void for_each_piece(const Columns& cols, std::int64_t rows, const Fn& fn) {
  const std::int64_t total = rows * cols.c;
  std::int64_t i = 0;
  for (; i + 8 * cols.width <= total; i += 8 * cols.width) fn.template operator()<8>(i, cols.width);
  for (; i < total; i += cols.width) fn.template operator()<1>(i, std::min(cols.width, total - i));
}

/// Runs fn(sample, first row, rows, piece) for runs of rows of channels-last memory, and returns the
/// number of runs in a sample: piece = sample * runs + run.
inline std::int64_t runs_of(const Planes& p) { return (p.s + rows_per_piece(p.c) - 1) / rows_per_piece(p.c); }
template <class Fn>
void for_each_run(const Planes& p, const Fn& fn) {
  const std::int64_t runs = runs_of(p), rows = rows_per_piece(p.c);
  // Small samples are taken together, so that a piece of parallel work stays worth its while.
  const std::int64_t grain = std::max<std::int64_t>(1, kWideGrain / std::max<std::int64_t>(1, std::min(rows, p.s) * p.c));
  parallel_for(p.n * runs, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) fn(k / runs, k % runs * rows, std::min(rows, p.s - k % runs * rows), k);
  });
}

/// Mean and sum of squared distances from it, of `count` numbers. Merged as in Chan, Golub and LeVeque 1979.
struct Moments {
  double count = 0, mean = 0, m2 = 0;
  void add(double other_count, double other_mean, double other_m2) {
    if (other_count == 0) return;
    const double total = count + other_count, delta = other_mean - mean, part = other_count / total;
    mean += delta * part;
    m2 += other_m2 + delta * delta * count * part;
    count = total;
  }
};

/// Improves a mean, and the squares about it, by the sum of the deviations from it.
template <class A>
void correct(A count, A sum, A& mean, A& m2) {
  if (count == 0) return;
  mean += sum / count;
  m2 = std::max(A(0), m2 - sum * (sum / count));
}

/// mean and m2 of every plane, [n * c]. Each piece of memory is read twice while it is in the cache.
template <class T, class A = Acc<T>>
void plane_moments(const T* x, const Planes& p, A* mean, A* m2) {
  if (!p.last) {
    parallel_for(p.count(), rows_per_piece(p.s), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        A sum = 0;
        mean[k] = p.s ? sum_one<T, A>(x + k * p.s, p.s) / static_cast<A>(p.s) : A(0);
        deviations_one(x + k * p.s, mean[k], sum, m2[k], p.s);
        correct(static_cast<A>(p.s), sum, mean[k], m2[k]);
      }
    });
    return;
  }
  if (p.count() == 0) return;
  const Columns cols(p.c);
  const std::int64_t runs = runs_of(p);
  std::vector<A> part(static_cast<std::size_t>(p.n * runs * 2 * p.c));
  for_each_run(p, [&](std::int64_t n, std::int64_t row, std::int64_t rows, std::int64_t piece) {
    const T* const at = x + (n * p.s + row) * p.c;
    A* const means = part.data() + piece * 2 * p.c;
    std::vector<A> acc(static_cast<std::size_t>(cols.width));
    for_each_piece(cols, rows, [&]<int R>(std::int64_t i, std::int64_t k) { sum_columns<R>(at + i, acc.data(), k); });
    cols.fold(acc.data(), means);
    for (std::int64_t j = 0; j < p.c; ++j) means[j] /= static_cast<A>(rows);
    const std::vector<A> centre = cols.tiled(means);
    std::vector<A> squares(acc.size()), sums(static_cast<std::size_t>(p.c));
    std::ranges::fill(acc, A(0));
    for_each_piece(cols, rows, [&]<int R>(std::int64_t i, std::int64_t k) {
      deviations_columns<R>(at + i, centre.data(), acc.data(), squares.data(), k);
    });
    cols.fold(acc.data(), sums.data());
    cols.fold(squares.data(), means + p.c);
    for (std::int64_t j = 0; j < p.c; ++j)
      correct(static_cast<A>(rows), sums[static_cast<std::size_t>(j)], means[j], means[p.c + j]);
  });
  for (std::int64_t n = 0; n < p.n; ++n) {
    for (std::int64_t j = 0; j < p.c; ++j) {
      Moments m;
      for (std::int64_t r = 0; r < runs; ++r) {
        const A* const from = part.data() + (n * runs + r) * 2 * p.c;
        m.add(static_cast<double>(std::min(rows_per_piece(p.c), p.s - r * rows_per_piece(p.c))), from[j], from[p.c + j]);
      }
      mean[n * p.c + j] = static_cast<A>(m.mean);
      m2[n * p.c + j] = static_cast<A>(m.m2);
    }
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
void plane_gradient(const T* x, const T* dy, const Planes& p, std::int64_t tables, const A* m, const A* a, const A* b,
                    const A* k, T* dx) {
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
    const auto ms = cols.tiled(m + from), as = cols.tiled(a + from), bs = cols.tiled(b + from), ks = cols.tiled(k + from);
    for_each_piece(cols, rows, [&]<int R>(std::int64_t i, std::int64_t w) {
      gradient_columns<R>(x + at + i, dy + at + i, ms.data(), as.data(), bs.data(), ks.data(), dx + at + i, w);
    });
  });
}

}  // namespace reel::kernels
