// Layer norm and RMS norm on the CPU: each row is normalised by itself. Bound by memory: a row
// stays in the first-level cache between its passes, so x is read once and y written once.
#include "reel/kernels/norm.h"

#include <cmath>

#include "reel/kernels/cpu/wide_row_impl.h"

namespace reel::kernels {
namespace {

constexpr std::int64_t kBlock = 2048;  // columns whose sum is kept in A; longer rows go on in double

/// One block: several sums side by side where it is long, since one would wait for its own last
/// addition.
template <class A>
A sum_block(const A* x, std::int64_t n) {
  const std::int64_t q = n < 256 ? 0 : n / 64 * 16;
  A s = 0;
  if (q > 0) {
    A s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s, s1, s2, s3)
    for (std::int64_t i = 0; i < q; ++i) {
      s += x[i];
      s1 += x[i + q];
      s2 += x[i + 2 * q];
      s3 += x[i + 3 * q];
    }
    s = (s + s1) + (s2 + s3);
  }
#pragma omp simd reduction(+ : s)
  for (std::int64_t i = 4 * q; i < n; ++i) s += x[i];
  return s;
}
template <class A>
double sum_row(const A* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t b = 0; b < n; b += kBlock) sum += sum_block(x + b, std::min(n - b, kBlock));
  return sum;
}
struct Deviations {
  double sum = 0, squares = 0;
};
/// Sums of x - m and of its square.
template <class A>
Deviations deviations_row(const A* x, A m, std::int64_t n) {
  Deviations d;
  for (std::int64_t b = 0; b < n; b += kBlock) {
    const std::int64_t end = std::min(n, b + kBlock);
    A s = 0, q = 0;
#pragma omp simd reduction(+ : s, q)
    for (std::int64_t i = b; i < end; ++i) {
      s += x[i] - m;
      q += (x[i] - m) * (x[i] - m);
    }
    d.sum += s;
    d.squares += q;
  }
  return d;
}
template <class A>
void normalize_row(const A* x, A m, A r, const A* w, const A* b, A* y, std::int64_t n) {
  if (w && b) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r * w[i] + b[i];
  } else if (w) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r * w[i];
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) * r;
    if (b) {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) y[i] += b[i];
    }
  }
}

template <bool kCentred>
void norm(const Exec& exec,
          const View& x,
          const View& weight,
          const View& bias,
          const View& y,
          const View& mean,
          const View& rstd,
          double eps) {
  visit_floating(x.dtype, [&]<class T>() {
    using A = Acc<T>;
    const std::int64_t rows = rstd.numel, n = rows ? x.numel / rows : 0;
    const Dense xs = Dense::read(exec, x, x.dtype, Layout::row_major), out(y, x.dtype, Layout::row_major);
    const Optional<A> w(exec, weight), b(exec, bias);
    const Dense rstds(rstd, dtype_of<A>(), Layout::row_major);
    const Dense means(kCentred ? mean : rstd, dtype_of<A>(), Layout::row_major);
    const double inverse = n ? 1.0 / static_cast<double>(n) : 0.0;
    parallel_for(rows, rows_per_piece(n), [&](std::int64_t begin, std::int64_t end) {
      auto in_row = row_buffer<T>(n), out_row = row_buffer<T>(n);
      for (std::int64_t row = begin; row < end; ++row) {
        const A* const p = widen(xs.as<T>() + row * n, in_row.data(), n);
        T* const q = out.as<T>() + row * n;
        A m = kCentred ? static_cast<A>(sum_row(p, n) * inverse) : A(0);
        const Deviations d = deviations_row(p, m, n);
        double var = d.squares * inverse;
        if constexpr (kCentred) {  // what rounding left of the mean is seen in the deviations
          m = static_cast<A>(m + d.sum * inverse);
          var = std::max(0.0, var - d.sum * inverse * d.sum * inverse);
        }
        const A r = static_cast<A>(1 / std::sqrt(var + eps));
        if constexpr (kCentred) means.as<A>()[row] = m;
        rstds.as<A>()[row] = r;
        A* const wide = wide_row(q, out_row.data());
        normalize_row(p, m, r, w.data(), b.data(), wide, n);
        narrow(wide, q, n);
      }
    });
    out.write(exec);
    if constexpr (kCentred) means.write(exec);
    rstds.write(exec);
  });
}

struct GradSums {
  double g = 0, gx = 0;  // of g = dy w, and of g xhat
};

/// The sums along one row, and its part of the sums along the columns.
template <class A>
GradSums reduce_row(const A* x, const A* dy, const A* w, A m, A r, A* dw, A* db, std::int64_t n) {
  GradSums sums;
  for (std::int64_t b = 0; b < n; b += kBlock) {
    const std::int64_t end = std::min(n, b + kBlock);
    A g = 0, gx = 0;
#pragma omp simd reduction(+ : g, gx)
    for (std::int64_t i = b; i < end; ++i) {
      const A xhat = (x[i] - m) * r, gi = dy[i] * w[i];
      g += gi;
      gx += gi * xhat;
      dw[i] += dy[i] * xhat;
      db[i] += dy[i];
    }
    sums.g += g;
    sums.gx += gx;
  }
  return sums;
}
/// dx = r (g - mean(g) - xhat mean(g xhat))
template <class A>
void grad_row(const A* x, const A* dy, const A* w, A m, A r, A mean_g, A mean_gx, A* dx, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) dx[i] = r * (dy[i] * w[i] - mean_g - (x[i] - m) * r * mean_gx);
}

/// Rows are cut into at most 64 pieces; each sums its columns, and the pieces are added in order.
template <bool kCentred>
void norm_grad(const Exec& exec,
               const View& x,
               const View& weight,
               const View& mean,
               const View& rstd,
               const View& dy,
               const View& dx,
               const View& dweight,
               const View& dbias) {
  visit_floating(x.dtype, [&]<class T>() {
    using A = Acc<T>;
    const std::int64_t rows = rstd.numel, n = rows ? x.numel / rows : std::max(dweight.numel, dbias.numel);
    const Dense xs = Dense::read(exec, x, x.dtype, Layout::row_major);
    const Dense dys = Dense::read(exec, dy, x.dtype, Layout::row_major);
    const Optional<A> given(exec, weight), means(exec, mean), rstds(exec, rstd);
    const Dense out(dx.data ? dx : x, x.dtype, Layout::row_major);
    const std::vector<A> ones(given.data() ? 0 : static_cast<std::size_t>(n), A(1));
    const A* const w = given.data() ? given.data() : ones.data();
    const std::int64_t piece = std::max(rows_per_piece(n), (rows + 63) / 64);
    const std::int64_t pieces = std::max<std::int64_t>(1, (rows + piece - 1) / piece);
    std::vector<A> part(static_cast<std::size_t>(pieces * 2 * n));
    const double inverse = n ? 1.0 / static_cast<double>(n) : 0.0;
    parallel_for(rows, piece, [&](std::int64_t begin, std::int64_t end) {
      auto x_row = row_buffer<T>(n), dy_row = row_buffer<T>(n), dx_row = row_buffer<T>(n);
      A* const dw = part.data() + begin / piece * 2 * n;
      for (std::int64_t row = begin; row < end; ++row) {
        const A* const p = widen(xs.as<T>() + row * n, x_row.data(), n);
        const A* const d = widen(dys.as<T>() + row * n, dy_row.data(), n);
        const A m = kCentred ? means[row] : A(0), r = rstds[row];
        const GradSums s = reduce_row(p, d, w, m, r, dw, dw + n, n);
        if (!dx.data) continue;
        T* const q = out.as<T>() + row * n;
        A* const wide = wide_row(q, dx_row.data());
        grad_row(p, d, w, m, r, kCentred ? static_cast<A>(s.g * inverse) : A(0), static_cast<A>(s.gx * inverse), wide,
                 n);
        narrow(wide, q, n);
      }
    });
    if (dx.data) out.write(exec);
    for (std::int64_t k = 1; k < pieces; ++k) {
      const A* const from = part.data() + k * 2 * n;
#pragma omp simd
      for (std::int64_t i = 0; i < 2 * n; ++i) part[static_cast<std::size_t>(i)] += from[i];
    }
    if (dweight.data) copy(exec, view_of(part.data(), dweight.shape), dweight);
    if (dbias.data) copy(exec, view_of(part.data() + n, dbias.shape), dbias);
  });
}

}  // namespace

void layer_norm(const Exec& exec,
                const View& x,
                const View& weight,
                const View& bias,
                const View& y,
                const View& mean,
                const View& rstd,
                double eps) {
  norm<true>(exec, x, weight, bias, y, mean, rstd, eps);
}
void layer_norm_grad(const Exec& exec,
                     const View& x,
                     const View& weight,
                     const View& mean,
                     const View& rstd,
                     const View& dy,
                     const View& dx,
                     const View& dweight,
                     const View& dbias) {
  norm_grad<true>(exec, x, weight, mean, rstd, dy, dx, dweight, dbias);
}
void rms_norm(const Exec& exec, const View& x, const View& weight, const View& y, const View& rstd, double eps) {
  norm<false>(exec, x, weight, View(), y, View(), rstd, eps);
}
void rms_norm_grad(const Exec& exec,
                   const View& x,
                   const View& weight,
                   const View& rstd,
                   const View& dy,
                   const View& dx,
                   const View& dweight) {
  norm_grad<false>(exec, x, weight, View(), rstd, dy, dx, dweight, View());
}

}  // namespace reel::kernels
