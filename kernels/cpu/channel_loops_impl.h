#pragma once
// The innermost loops of group norm and batch norm.
#include <cstdint>

#include "reel/core/dtype.h"

namespace reel::kernels {

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
  for (std::int64_t i = 0; i < n; ++i) dx[i] = convert<T>(a * convert<A>(dy[i]) + (b * (convert<A>(x[i]) - m) + k));
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

}  // namespace reel::kernels
