// Copies, conversions, selection and the search for non-finite values on the CPU.
#include <atomic>
#include <cstring>

#include "reel/kernels/cpu/convert_impl.h"
#include "reel/kernels/cpu/nd_loop_impl.h"
#include "reel/kernels/pointwise.h"

namespace reel::kernels {
namespace {

template <class T>
Acc<T> load(const T* p, std::int64_t i) {
  return convert<Acc<T>>(p[i]);
}

template <class S, class D>
void copy_row(const S* x, D* y, std::int64_t n, std::int64_t sx, std::int64_t sy) {
  if (sx == 1 && sy == 1) {
    if constexpr (std::is_same_v<S, D>) {
      std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(S));
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < n; ++i) convert_into(y[i], x[i]);
    }
  } else if (sx == 0 && sy == 1) {
    std::fill_n(y, n, convert<D>(*x));
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i * sy] = convert<D>(x[i * sx]);
  }
}

}  // namespace

void copy(const Exec&, const View& x, const View& y) {
  visit(x.dtype, [&]<class S>() {
    visit(y.dtype, [&]<class D>() {
      nd_loop<2>({&y, &x}, [&](const auto& at, const auto& s, std::int64_t n) {
        copy_row(x.as<S>() + at[1], y.as<D>() + at[0], n, s[1], s[0]);
      });
    });
  });
}

void fill(const Exec& exec, const View& y, double value) {
  visit(y.dtype, [&]<class T>() {
    T v = convert<T>(value);
    View x;
    x.data = reinterpret_cast<std::byte*>(&v);
    x.numel = 1;
    x.dtype = y.dtype;
    copy(exec, x, y);
  });
}

void where(const Exec&, const View& c, const View& a, const View& b, const View& y) {
  visit(y.dtype, [&]<class T>() {
    nd_loop<4>({&y, &c, &a, &b}, [&](const auto& at, const auto& s, std::int64_t n) {
      const bool* pc = c.as<bool>() + at[1];
      const T *pa = a.as<T>() + at[2], *pb = b.as<T>() + at[3];
      T* py = y.as<T>() + at[0];
      for (std::int64_t i = 0; i < n; ++i) py[i * s[0]] = pc[i * s[1]] ? pa[i * s[2]] : pb[i * s[3]];
    });
  });
}

void triangle(const Exec& exec, const View& x, const View& y, bool upper, std::int64_t diagonal) {
  copy(exec, x, y);
  const std::int64_t cols = y.shape.back(), rows = y.shape[y.rank() - 2];
  if (y.numel == 0) return;
  visit(y.dtype, [&]<class T>() {
    for (std::int64_t r = 0; r < y.numel / cols; ++r) {  // y is row-major: r counts rows of all matrices
      const std::int64_t edge = std::clamp<std::int64_t>(r % rows + diagonal + (upper ? 0 : 1), 0, cols);
      T* row = y.as<T>() + r * cols;
      if (upper)
        std::fill_n(row, edge, T{});
      else
        std::fill_n(row + edge, cols - edge, T{});
    }
  });
}

std::int64_t first_nonfinite(const Exec&, const View& x) {
  if (!is_floating(x.dtype)) return -1;
  std::atomic<bool> found{false};
  visit_floating(x.dtype, [&]<class T>() {
    nd_loop<1>({&x}, [&](const auto& at, const auto& s, std::int64_t n) {
      const T* p = x.as<T>() + at[0];
      bool bad = false;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto v = load(p, i * s[0]);
        bad |= !(v - v == 0);  // infinity and NaN are the numbers that do not cancel
      }
      if (bad) found = true;
    });
  });
  if (!found) return -1;
  // Rare: find the position in row-major order.
  return visit_floating(x.dtype, [&]<class T>() {
    Dims index = Dims::filled(x.rank(), 0);
    for (std::int64_t i = 0; i < x.numel; ++i) {
      std::int64_t at = 0;
      for (int d = 0; d < x.rank(); ++d) at += index[d] * x.strides[d];
      const auto v = load(x.as<T>(), at);
      if (!(v - v == 0)) return i;
      for (int d = x.rank() - 1; d >= 0 && ++index[d] == x.shape[d]; --d) index[d] = 0;
    }
    return std::int64_t{-1};
  });
}

}  // namespace reel::kernels
