#pragma once
// Loops of the pointwise kernels, shared by the files that instantiate them. They are free functions
// with pointer arguments, since that is the form which compilers vectorise. `omp simd` is legal also
// where the output is one of the inputs: element i depends on element i alone.
#include "reel/kernels/cpu/nd_loop_impl.h"
#include "reel/kernels/math/functions.h"
#include "reel/kernels/pointwise.h"

namespace reel::kernels {

template <class T>
Acc<T> load(const T* p, std::int64_t i) {
  return convert<Acc<T>>(p[i]);
}

template <class F, class T>
void map_row(const F f, const T* x, T* y, std::int64_t n, std::int64_t sx, std::int64_t sy) {
  if (sx == 1 && sy == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = convert<T>(f.f(load(x, i)));
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i * sy] = convert<T>(f.f(load(x, i * sx)));
  }
}

template <class F>
void map(const Exec&, const View& x, const View& y, F f) {
  visit_floating(y.dtype, [&]<class T>() {
    nd_loop<2>({&y, &x}, [&, f](const auto& at, const auto& s, std::int64_t n) {
      map_row<F, T>(f, x.as<T>() + at[1], y.as<T>() + at[0], n, s[1], s[0]);
    });
  });
}

template <class F, class T>
void map_grad_row(const F f, const T* x, const T* y, const T* dy, T* dx, std::int64_t n, std::int64_t sx,
                  std::int64_t sy, std::int64_t sd, std::int64_t so) {
  if (sx == 1 && sy == 1 && sd == 1 && so == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) dx[i] = convert<T>(load(dy, i) * f.df(load(x, i), load(y, i)));
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      dx[i * so] = convert<T>(load(dy, i * sd) * f.df(load(x, i * sx), load(y, i * sy)));
  }
}

template <class F>
void map_grad(const Exec&, const View& x, const View& y, const View& dy, const View& dx, F f) {
  visit_floating(dx.dtype, [&]<class T>() {
    nd_loop<4>({&dx, &x, &y, &dy}, [&, f](const auto& at, const auto& s, std::int64_t n) {
      map_grad_row<F, T>(f, x.as<T>() + at[1], y.as<T>() + at[2], dy.as<T>() + at[3], dx.as<T>() + at[0], n, s[1], s[2],
                         s[3], s[0]);
    });
  });
}

template <class F>
void map_grad2(const Exec&, const View& x, const View& y, const View& a, const View& b, const View& out, F f) {
  visit_floating(out.dtype, [&]<class T>() {
    nd_loop<5>({&out, &x, &y, &a, &b}, [&, f](const auto& at, const auto& s, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        const auto second = f.ddf(load(x.as<T>(), at[1] + i * s[1]), load(y.as<T>(), at[2] + i * s[2]));
        out.as<T>()[at[0] + i * s[0]] =
            convert<T>(load(a.as<T>(), at[3] + i * s[3]) * load(b.as<T>(), at[4] + i * s[4]) * second);
      }
    });
  });
}

template <class F, class T, class R>
void zip_row(const F f, const T* a, const T* b, R* y, std::int64_t n, std::int64_t sa, std::int64_t sb, std::int64_t sy) {
  if (sa == 1 && sb == 1 && sy == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = convert<R>(f.f(load(a, i), load(b, i)));
  } else if (sa == 1 && sb == 0 && sy == 1) {
    const auto c = load(b, 0);
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = convert<R>(f.f(load(a, i), c));
  } else if (sa == 0 && sb == 1 && sy == 1) {
    const auto c = load(a, 0);
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = convert<R>(f.f(c, load(b, i)));
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i * sy] = convert<R>(f.f(load(a, i * sa), load(b, i * sb)));
  }
}

template <class T, class R, class F>
void zip_loop(const View& a, const View& b, const View& y, const F& f) {
  nd_loop<3>({&y, &a, &b}, [&, f](const auto& at, const auto& s, std::int64_t n) {
    zip_row<F, T, R>(f, a.as<T>() + at[1], b.as<T>() + at[2], y.as<R>() + at[0], n, s[1], s[2], s[0]);
  });
}

}  // namespace reel::kernels
