// Sums and what is made of sums, on the CPU.
#include "reel/kernels/reduce.h"

#include <cmath>

#include "reel/kernels/cpu/nd_loop_impl.h"
#include "reel/kernels/cpu/reduce_impl.h"

namespace reel::kernels {
namespace {

template <class T>
struct SumOf {
  using Value = T;
  using State = SumState<T>;
  static constexpr bool kMax = false;
  static constexpr State kZero = 0;
  static State term(T v, State) { return to_state(v); }
};

template <class T>
struct SquaredDistance {  // from the output's mean
  using Value = T;
  using State = Acc<T>;
  static constexpr bool kMax = false;
  static constexpr State kZero = 0;
  static State term(T v, State mean) {
    const State d = convert<State>(v) - mean;
    return d * d;
  }
};

template <class T>
struct ScaledSquare {  // in double, where squares of float neither overflow nor vanish
  using Value = T;
  using State = double;
  static constexpr bool kMax = false;
  static constexpr State kZero = 0;
  static State term(T v, State scale) {
    const State s = std::is_same_v<T, double> ? convert<State>(v) * scale : convert<State>(v);
    return s * s;
  }
};

struct LargestMagnitude {  // bit patterns without the sign are ordered like magnitudes, NaN on top
  using Value = double;
  using State = std::int64_t;
  static constexpr bool kMax = true;
  static constexpr State kZero = 0;
  static State term(double v, State) { return std::bit_cast<State>(v) & std::numeric_limits<State>::max(); }
};

/// The power of two that brings the magnitude `key` near 1: scaling by it is exact.
double scale_of(std::int64_t key) {
  const auto largest = std::bit_cast<double>(key);
  if (!(largest > 0) || !std::isfinite(largest)) return 1;
  return std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000));
}

std::int64_t terms_of(const View& x, unsigned dims) {
  std::int64_t n = 1;
  for (int d = 0; d < x.rank(); ++d)
    if ((dims >> d) & 1u) n *= x.shape[d];
  return n;
}

/// `v` without its shape, seen with the shape of x: repeated along the reduced dimensions.
View spread(const View& v, const View& x, unsigned dims) {
  View s = v;
  s.shape = s.strides = x.shape;
  std::int64_t step = 1;
  for (int d = x.rank() - 1; d >= 0; --d) {
    s.strides[d] = (dims >> d) & 1u ? 0 : step;
    if (s.strides[d]) step *= x.shape[d];
  }
  s.numel = x.numel;
  s.layout = Layout::strided;
  return s;
}

template <class T, class A>
void var_grad_row(const T* x,
                  const A* mean,
                  const T* dy,
                  T* dx,
                  std::int64_t n,
                  std::int64_t sx,
                  std::int64_t sm,
                  std::int64_t sd,
                  std::int64_t so,
                  A scale) {
  if (sx == 1 && sm == 0 && sd == 0 && so == 1) {
    const A m = *mean, factor = convert<A>(*dy) * scale;
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) dx[i] = convert<T>((convert<A>(x[i]) - m) * factor);
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      dx[i * so] = convert<T>((convert<A>(x[i * sx]) - mean[i * sm]) * (convert<A>(dy[i * sd]) * scale));
  }
}

}  // namespace

void sum(const Exec&, const View& x, unsigned dims, const View& y) {
  visit(x.dtype, [&]<class T>() {
    using Y = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
    auto* out = y.as<Y>();
    reduce<SumOf<T>>(x, dims, nullptr, [out](std::int64_t i, SumState<T> s) {
      if constexpr (std::is_integral_v<T>)
        out[i] = static_cast<Y>(s);
      else
        out[i] = convert<Y>(s);
    });
  });
}

void mean(const Exec&, const View& x, unsigned dims, const View& y) {
  visit_floating(x.dtype, [&]<class T>() {
    T* out = y.as<T>();
    const auto n = static_cast<Acc<T>>(terms_of(x, dims));
    reduce<SumOf<T>>(x, dims, nullptr, [out, n](std::int64_t i, Acc<T> s) { out[i] = convert<T>(s / n); });
  });
}

void var(const Exec&, const View& x, unsigned dims, double correction, const View& y, const View& mean) {
  visit_floating(x.dtype, [&]<class T>() {
    using A = Acc<T>;
    const auto n = static_cast<double>(terms_of(x, dims));
    const A count = static_cast<A>(n);
    const A divisor = n > correction ? static_cast<A>(n - correction) : std::numeric_limits<A>::quiet_NaN();
    A* m = mean.as<A>();
    T* out = y.as<T>();
    reduce<SumOf<T>>(x, dims, nullptr, [m, count](std::int64_t i, A s) { m[i] = s / count; });
    reduce<SquaredDistance<T>>(x, dims, m, [out, divisor](std::int64_t i, A s) { out[i] = convert<T>(s / divisor); });
  });
}

void var_grad(
    const Exec&, const View& x, const View& mean, const View& dy, unsigned dims, double scale, const View& dx) {
  const View m = spread(mean, x, dims), d = spread(dy, x, dims);
  visit_floating(x.dtype, [&]<class T>() {
    using A = Acc<T>;
    nd_loop<4>({&dx, &x, &m, &d}, [&](const auto& at, const auto& s, std::int64_t n) {
      var_grad_row<T, A>(x.as<T>() + at[1], m.as<A>() + at[2], d.as<T>() + at[3], dx.as<T>() + at[0], n, s[1], s[2],
                         s[3], s[0], static_cast<A>(scale));
    });
  });
}

void norm(const Exec&, const View& x, unsigned dims, const View& y) {
  visit_floating(x.dtype, [&]<class T>() {
    T* out = y.as<T>();
    if constexpr (std::is_same_v<T, double>) {
      std::vector<double> scale(static_cast<std::size_t>(y.numel));
      reduce<LargestMagnitude>(x, dims, nullptr, [&](std::int64_t i, std::int64_t key) {
        scale[static_cast<std::size_t>(i)] = scale_of(key);
      });
      reduce<ScaledSquare<T>>(x, dims, scale.data(), [&](std::int64_t i, double s) {
        out[i] = std::sqrt(s) / scale[static_cast<std::size_t>(i)];
      });
    } else {
      reduce<ScaledSquare<T>>(x, dims, nullptr, [out](std::int64_t i, double s) { out[i] = convert<T>(std::sqrt(s)); });
    }
  });
}

}  // namespace reel::kernels
