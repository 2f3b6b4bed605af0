// Maximum pooling on the CPU. Images are taken as [n, h, w, c] (pool_impl.h). The unit of work is
// one row: of y on the way forth, of x on the way back, so that nobody writes where another does.
// Bound by bytes: inner loops run over channels, or over columns where c is 1.
#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "reel/core/parallel.h"
#include "reel/kernels/cpu/dense_impl.h"
#include "reel/kernels/cpu/pool_impl.h"

namespace reel::kernels {
namespace {

template <class T>
Acc<T> value(T v) {
  return convert<Acc<T>>(v);
}

/// Whether v takes the place of m: larger, or the first NaN.
template <class A>
bool beats(A v, A m) {
  return (v > m) | ((v != v) & (m == m));
}

/// condition ? a : b without a jump: which element wins is as good as random.
template <class T>
T choose(bool condition, T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                     std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  const auto mask = static_cast<Bits>(-static_cast<std::int64_t>(condition));
  return std::bit_cast<T>(static_cast<Bits>((std::bit_cast<Bits>(a) & mask) | (std::bit_cast<Bits>(b) & ~mask)));
}

/// A step between elements that the compiler knows: only then are the loops below vector code.
using One = std::integral_constant<std::int64_t, 1>;

/// Takes elements of place `code` of n windows that beat the best so far.
template <class T, class I, class Step>
void take(const T* x, Step step, T* y, I* at, I code, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T v = x[i * step], m = y[i];
    const bool better = beats(value(v), value(m));
    y[i] = choose(better, v, m);
    at[i] = choose(better, code, at[i]);
  }
}

/// The best of the four corners of n windows of 2 x 2.
template <class T, class I, class Step>
void take_quad(const T* x0, const T* x1, const T* x2, const T* x3, Step step, T* y, I* at, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T a = x0[i * step], b = x1[i * step], c = x2[i * step], d = x3[i * step];
    const bool right = beats(value(b), value(a)), low_right = beats(value(d), value(c));
    const T upper = choose(right, b, a), lower = choose(low_right, d, c);
    const bool low = beats(value(lower), value(upper));
    y[i] = choose(low, lower, upper);
    at[i] = choose(low, static_cast<I>(2 + low_right), static_cast<I>(right));
  }
}

/// to[i * step] += the gradient of windows whose best element is at place `code`
template <class T, class I, class Step>
void give(const T* dy, const I* at, I code, Acc<T>* to, Step step, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i * step] += at[i] == code ? value(dy[i]) : Acc<T>{};
}

template <class T, class I, class Step>
void give_quad(const T* dy, const I* at, T* x0, T* x1, T* x2, T* x3, Step step, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = dy[i], zero{};
    const I code = at[i];
    x0[i * step] = code == 0 ? g : zero;
    x1[i * step] = code == 1 ? g : zero;
    x2[i * step] = code == 2 ? g : zero;
    x3[i * step] = code == 3 ? g : zero;
  }
}

struct Sizes {
  PoolPlanes x, y;
  PoolWindow win;

  bool is_quad() const {
    return win.kernel_h == 2 && win.kernel_w == 2 && win.stride_h == 2 && win.stride_w == 2 && win.padding_h == 0 &&
           win.padding_w == 0;
  }
  /// The outputs [first, last) of a row whose window has its column b inside x.
  struct Range {
    std::int64_t first, last;
  };
  Range inside(std::int64_t b) const {
    const std::int64_t low = win.padding_w - b;  // j * stride >= low and j * stride < low + w
    const auto above = [&](std::int64_t v) { return v <= 0 ? 0 : (v + win.stride_w - 1) / win.stride_w; };
    return {std::min(above(low), y.w), std::min(above(low + x.w), y.w)};
  }
};

template <class T, class I>
void max_row(const Sizes& s, const T* image, std::int64_t row, T* y, I* at) {
  const PoolWindow& k = s.win;
  const std::int64_t c = s.x.c, top = row * k.stride_h - k.padding_h;
  if (s.is_quad()) {
    const T *a = image + top * s.x.w * c, *b = a + s.x.w * c;
    if (c == 1) return take_quad(a, a + 1, b, b + 1, std::int64_t{2}, y, at, s.y.w);
    for (std::int64_t j = 0; j < s.y.w; ++j, a += 2 * c, b += 2 * c)
      take_quad(a, a + c, b, b + c, One(), y + j * c, at + j * c, c);
    return;
  }
  const std::int64_t a0 = std::max<std::int64_t>(0, -top), a1 = std::min(k.kernel_h, s.x.h - top);
  const T lowest = convert<T>(-std::numeric_limits<float>::infinity());
  for (std::int64_t j = 0; j < s.y.w; ++j) {  // where all are -inf, the first element inside wins
    const std::int64_t b0 = std::max<std::int64_t>(0, k.padding_w - j * k.stride_w);
    std::fill_n(y + j * c, c, lowest);
    std::fill_n(at + j * c, c, static_cast<I>(a0 * k.kernel_w + b0));
  }
  for (std::int64_t a = a0; a < a1; ++a)
    for (std::int64_t b = 0; b < k.kernel_w; ++b) {
      const auto [first, last] = s.inside(b);
      const I code = static_cast<I>(a * k.kernel_w + b);
      const T* x = image + ((top + a) * s.x.w - k.padding_w + b) * c;
      if (c == 1) {
        take(x + first * k.stride_w, k.stride_w, y + first, at + first, code, last - first);
      } else {
        for (std::int64_t j = first; j < last; ++j) take(x + j * k.stride_w * c, One(), y + j * c, at + j * c, code, c);
      }
    }
}

/// Two rows of dx from one of dy, for windows of 2 x 2; columns and rows beyond the last window get
/// 0.
template <class T, class I>
void quad_grad_row(const Sizes& s, const T* dy, const I* at, std::int64_t row, T* image) {
  const std::int64_t c = s.x.c, pitch = s.x.w * c;
  T *a = image + 2 * row * pitch, *b = a + pitch;
  if (c == 1)
    give_quad(dy, at, a, a + 1, b, b + 1, std::int64_t{2}, s.y.w);
  else
    for (std::int64_t j = 0; j < s.y.w; ++j) {
      const std::int64_t left = 2 * j * c, right = left + c;
      give_quad(dy + j * c, at + j * c, a + left, a + right, b + left, b + right, One(), c);
    }
  const std::int64_t used = 2 * s.y.w * c;
  std::fill(a + used, a + pitch, T{});
  std::fill(b + used, b + pitch, T{});
  if (row + 1 == s.y.h) std::fill(b + pitch, image + s.x.h * pitch, T{});
}

/// One row of dx, in any window: every row of windows that reaches it adds its share, in order.
template <class T, class I>
void grad_row(const Sizes& s, const T* dy, const I* at, std::int64_t row, Acc<T>* dx) {
  const PoolWindow& k = s.win;
  const std::int64_t c = s.x.c;
  std::fill_n(dx, s.x.w * c, Acc<T>{});
  const std::int64_t low = row + k.padding_h - k.kernel_h + 1;
  const std::int64_t o0 = low <= 0 ? 0 : (low + k.stride_h - 1) / k.stride_h;
  const std::int64_t o1 = std::min(s.y.h, (row + k.padding_h) / k.stride_h + 1);
  for (std::int64_t o = o0; o < o1; ++o)
    for (std::int64_t b = 0; b < k.kernel_w; ++b) {
      const auto [first, last] = s.inside(b);
      const I code = static_cast<I>((row + k.padding_h - o * k.stride_h) * k.kernel_w + b);
      const T* g = dy + o * s.y.w * c;
      const I* p = at + o * s.y.w * c;
      Acc<T>* to = dx + (b - k.padding_w) * c;
      if (c == 1) {
        give(g + first, p + first, code, to + first * k.stride_w, k.stride_w, last - first);
      } else {
        for (std::int64_t j = first; j < last; ++j) give(g + j * c, p + j * c, code, to + j * k.stride_w * c, One(), c);
      }
    }
}

/// Calls fn with the type of the places.
template <class Fn>
void visit_places(DType t, const Fn& fn) {
  if (t == DType::u8)
    fn.template operator()<std::uint8_t>();
  else
    fn.template operator()<std::int32_t>();
}

}  // namespace

void max_pool2d(const Exec& exec, const View& x, const View& y, const View& at, const PoolWindow& window) {
  if (y.numel == 0) return;
  const Layout layout = pool_layout(y);
  const Sizes s{planes(x.shape, layout), planes(y.shape, layout), window};
  const auto in = Dense::read(exec, x, x.dtype, layout);
  const Dense out(y, y.dtype, layout), places(at, at.dtype, layout);
  visit_floating(y.dtype, [&]<class T>() {
    visit_places(at.dtype, [&]<class I>() {
      parallel_for(s.y.n * s.y.h, pool_grain(s.x), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t u = begin; u < end; ++u)
          max_row(s, in.as<T>() + u / s.y.h * s.x.image(), u % s.y.h, out.as<T>() + u * s.y.row(),
                  places.as<I>() + u * s.y.row());
      });
    });
  });
  out.write(exec);
  places.write(exec);
}

void max_pool2d_grad(const Exec& exec, const View& dy, const View& at, const View& dx, const PoolWindow& window) {
  if (dx.numel == 0) return;
  const Layout layout = pool_layout(dx);
  const Sizes s{planes(dx.shape, layout), planes(dy.shape, layout), window};
  const auto in = Dense::read(exec, dy, dy.dtype, layout), places = Dense::read(exec, at, at.dtype, layout);
  const Dense out(dx, dx.dtype, layout);
  visit_floating(dx.dtype, [&]<class T>() {
    visit_places(at.dtype, [&]<class I>() {
      const T* g = in.as<T>();
      const I* p = places.as<I>();
      T* d = out.as<T>();
      if (s.is_quad()) {
        parallel_for(s.y.n * s.y.h, pool_grain(s.x), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t u = begin; u < end; ++u)
            quad_grad_row(s, g + u * s.y.row(), p + u * s.y.row(), u % s.y.h, d + u / s.y.h * s.x.image());
        });
        return;
      }
      parallel_for(s.x.n * s.x.h, pool_grain(s.x), [&](std::int64_t begin, std::int64_t end) {
        PoolRow<T> row(s.x.row());
        for (std::int64_t u = begin; u < end; ++u) {
          const std::int64_t image = u / s.x.h * s.y.image();
          row.fill(d + u * s.x.row(), [&](Acc<T>* to) { grad_row(s, g + image, p + image, u % s.x.h, to); });
        }
      });
    });
  });
  out.write(exec);
}

}  // namespace reel::kernels
