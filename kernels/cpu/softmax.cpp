// Softmax and its kin on the CPU. A row is read three times at most and stays in the cache:
// maximum; exponentials and their sum; scaling. Short rows are taken together, so that their
// exponentials fill whole vectors. Rows of half types, and rows that are not dense, are converted
// into a buffer first and back at the end.
#include "reel/kernels/softmax.h"

#include <cmath>
#include <limits>

#include "reel/kernels/cpu/row_map_impl.h"
#include "reel/kernels/math/elementary.h"

namespace reel::kernels {
namespace {

template <class A>
constexpr A kInf = std::numeric_limits<A>::infinity();

/// The largest element that is not NaN, or -inf.
template <class A>
A largest(const A* x, std::int64_t n) {
  A m = -kInf<A>;
#pragma omp simd reduction(max : m)
  for (std::int64_t i = 0; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m;
}

/// What is subtracted before e^x is taken: finite unless the row holds +inf, so that a row of -inf
/// gives zeros.
template <class A>
A shift_of(const A* x, std::int64_t n) {
  const A m = largest(x, n);
  return m == -kInf<A> ? A(0) : m;
}

template <class A>
A total_of(const A* x, std::int64_t n) {
  A s = 0;
#pragma omp simd reduction(+ : s)
  for (std::int64_t i = 0; i < n; ++i) s += x[i];
  return s;
}

/// Sum of e^(x - m), and when asked the terms themselves.
template <class A, bool Store>
A exp_sum(const A* x, A m, A* y, std::int64_t n) {
  A total = 0;
  for (std::int64_t b = 0; b < n; b += kRowsBlock) {
    const std::int64_t end = std::min(b + kRowsBlock, n);
    A s = 0;
#pragma omp simd reduction(+ : s)
    for (std::int64_t i = b; i < end; ++i) {
      const A e = math::exp(x[i] - m);
      if constexpr (Store) y[i] = e;
      s += e;
    }
    total += s;
  }
  return total;
}

/// Short rows taken together: e^(x - shift) of at most kRowsBlock numbers, and each row's shift and
/// sum.
template <class A>
struct ShortRows {
  A e[kRowsBlock], shift[kRowsBlock], sum[kRowsBlock];

  ShortRows(const A* x, std::int64_t n, std::int64_t rows) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const A m = shift[r] = shift_of(x + r * n, n);
      for (std::int64_t i = r * n; i < (r + 1) * n; ++i) e[i] = x[i] - m;
    }
    exponentiate(rows * n);
    for (std::int64_t r = 0; r < rows; ++r) sum[r] = total_of(e + r * n, n);
  }
  void exponentiate(std::int64_t count) {
    constexpr std::int64_t vector = 64 / sizeof(A);
    for (; count % vector; ++count) e[count] = 0;  // kRowsBlock is a multiple
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) e[i] = math::exp(e[i]);
  }
};

struct SoftmaxRows {
  template <class A>
  static void row(const std::array<const A*, 1>& x, A* y, std::int64_t n) {
    const A s = exp_sum<A, true>(x[0], shift_of(x[0], n), y, n), scale = s == 0 ? A(0) : 1 / s;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] *= scale;
  }
  template <class A>
  static void short_rows(const std::array<const A*, 1>& x, A* y, std::int64_t n, std::int64_t rows) {
    const ShortRows<A> s(x[0], n, rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      const A scale = s.sum[r] == 0 ? A(0) : 1 / s.sum[r];
      for (std::int64_t i = r * n; i < (r + 1) * n; ++i) y[i] = s.e[i] * scale;
    }
  }
};

struct LogSoftmaxRows {
  static float log_of(float s) { return s == 0 ? 0 : math::log(s); }  // a row of -inf stays -inf
  static double log_of(double s) { return s == 0 ? 0 : math::log(s); }
  template <class A>
  static void row(const std::array<const A*, 1>& in, A* y, std::int64_t n) {
    const A* x = in[0];
    const A m = shift_of(x, n), log_sum = log_of(exp_sum<A, false>(x, m, nullptr, n));
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - m) - log_sum;
  }
  template <class A>
  static void short_rows(const std::array<const A*, 1>& x, A* y, std::int64_t n, std::int64_t rows) {
    const ShortRows<A> s(x[0], n, rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      const A m = s.shift[r], log_sum = log_of(s.sum[r]);
      for (std::int64_t i = r * n; i < (r + 1) * n; ++i) y[i] = (x[0][i] - m) - log_sum;
    }
  }
};

struct SoftmaxGradRows {
  template <class A>
  static void row(const std::array<const A*, 2>& in, A* dx, std::int64_t n) {
    const A *y = in[0], *dy = in[1];
    A total = 0;
    for (std::int64_t b = 0; b < n; b += kRowsBlock) {
      const std::int64_t end = std::min(b + kRowsBlock, n);
      A s = 0;
#pragma omp simd reduction(+ : s)
      for (std::int64_t i = b; i < end; ++i) s += y[i] * dy[i];
      total += s;
    }
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - total);
  }
  template <class A>
  static void short_rows(const std::array<const A*, 2>& in, A* dx, std::int64_t n, std::int64_t rows) {
    for (std::int64_t r = 0; r < rows; ++r) row<A>({in[0] + r * n, in[1] + r * n}, dx + r * n, n);
  }
};

struct LogSoftmaxGradRows {
  template <class A>
  static void row(const std::array<const A*, 2>& in, A* dx, std::int64_t n) {
    const A *y = in[0], *dy = in[1];
    A total = 0;
    for (std::int64_t b = 0; b < n; b += kRowsBlock) total += total_of(dy + b, std::min(kRowsBlock, n - b));
    if (hidden(y, n)) {
      std::fill_n(dx, n, A(0));
      return;
    }
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] - math::exp(y[i]) * total;
  }
  template <class A>
  static void short_rows(const std::array<const A*, 2>& in, A* dx, std::int64_t n, std::int64_t rows) {
    const ShortRows<A> s(in[0], n, rows);  // e^(y - shift), where the sum of all e^y is 1
    for (std::int64_t r = 0; r < rows; ++r) {
      const A *y = in[0] + r * n, *dy = in[1] + r * n;
      const A total = total_of(dy, n) * math::exp(s.shift[r]);
      const bool none = hidden(y, n);
      for (std::int64_t i = 0; i < n; ++i) dx[r * n + i] = none ? A(0) : dy[i] - s.e[r * n + i] * total;
    }
  }

 private:
  /// Whether all are -inf.
  template <class A>
  static bool hidden(const A* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i)
      if (y[i] != -kInf<A>) return false;  // nearly always the first
    return true;
  }
};

template <class A>
A logsumexp_row(const A* x, std::int64_t n) {
  const A m = largest(x, n);
  if (m == kInf<A>) {  // +inf, unless a NaN is there too
    A s = 0;
    for (std::int64_t i = 0; i < n; ++i) s += x[i] == -kInf<A> ? A(0) : x[i];
    return s;
  }
  const A shift = m == -kInf<A> ? A(0) : m;
  return shift + math::log(exp_sum<A, false>(x, shift, nullptr, n));
}

}  // namespace

void softmax(const Exec&, const View& x, int dim, const View& y) {
  visit_floating(x.dtype, [&]<class T>() { rows_to_rows<SoftmaxRows, T, 1>({&x}, y, dim); });
}
void log_softmax(const Exec&, const View& x, int dim, const View& y) {
  visit_floating(x.dtype, [&]<class T>() { rows_to_rows<LogSoftmaxRows, T, 1>({&x}, y, dim); });
}
void softmax_grad(const Exec&, const View& y, const View& dy, int dim, const View& dx) {
  visit_floating(y.dtype, [&]<class T>() { rows_to_rows<SoftmaxGradRows, T, 2>({&y, &dy}, dx, dim); });
}
void log_softmax_grad(const Exec&, const View& y, const View& dy, int dim, const View& dx) {
  visit_floating(y.dtype, [&]<class T>() { rows_to_rows<LogSoftmaxGradRows, T, 2>({&y, &dy}, dx, dim); });
}

void logsumexp(const Exec&, const View& x, int dim, const View& y) {
  const std::int64_t n = row_size(x, dim), step = row_step(x, dim);
  const View rows = without(x, dim);
  View out = y;  // under the shape of the rows, in case it kept the dimension
  out.shape = rows.shape;
  out.strides = row_major(rows.shape);
  visit_floating(x.dtype, [&]<class T>() {
    using A = Acc<T>;
    for_rows<2>({&out, &rows}, n, [&](const auto& next, std::int64_t count) {
      RowBuffer<A> buffer(n);
      for (std::int64_t r = 0; r < count; ++r) {
        const auto at = next();
        const T* row = x.as<T>() + at[1];
        const A* p = buffer.data();
        if (std::is_same_v<T, A> && step == 1)
          p = reinterpret_cast<const A*>(row);
        else
          for (std::int64_t i = 0; i < n; ++i) buffer.data()[i] = convert<A>(row[i * step]);
        y.as<T>()[at[0]] = convert<T>(logsumexp_row(p, n));
      }
    });
  });
}

}  // namespace reel::kernels
