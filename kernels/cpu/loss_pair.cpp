// Losses of a prediction and a target, element by element, on the CPU.
#include "reel/kernels/cpu/loss_impl.h"
#include "reel/kernels/cpu/nd_loop_impl.h"
#include "reel/kernels/cpu/wide_row_impl.h"
#include "reel/kernels/loss.h"
#include "reel/kernels/math/functions.h"

namespace reel::kernels {
namespace {

constexpr std::int64_t kTerms = 1024;  // added in the accumulation type, before the sum goes on in double

template <class F, class T>
double loss_sum(const F f, const T* x, const T* t, std::int64_t n) {
  double sum = 0;
  for (std::int64_t b = 0; b < n; b += kTerms) {
    const std::int64_t end = std::min(n, b + kTerms);
    Acc<T> s = 0;
#pragma omp simd reduction(+ : s)
    for (std::int64_t i = b; i < end; ++i) s += f.f(convert<Acc<T>>(x[i]), convert<Acc<T>>(t[i]));
    sum += s;
  }
  return sum;
}

template <class F, class T>
void grad_row(const F f,
              const T* x,
              const T* t,
              Acc<T> scale,
              T* dx,
              std::int64_t n,
              std::int64_t sx,
              std::int64_t st,
              std::int64_t so) {
  if (sx == 1 && st == 1 && so == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) dx[i] = convert<T>(f.df(convert<Acc<T>>(x[i]), convert<Acc<T>>(t[i])) * scale);
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      dx[i * so] = convert<T>(f.df(convert<Acc<T>>(x[i * sx]), convert<Acc<T>>(t[i * st])) * scale);
  }
}

}  // namespace

template <class F>
void pair_loss(const Exec& exec, const View& x, const View& t, const View& sum, const View& count, F f) {
  visit_floating(x.dtype, [&]<class T>() {
    const auto total = [&](const T* a, const T* b) {
      return ordered_sum(x.numel, kWideGrain, [&](std::int64_t begin, std::int64_t end) {
        return loss_sum<F, T>(f, a + begin, b + begin, end - begin);
      });
    };
    if (x.layout == t.layout && x.layout != Layout::strided) {  // one order of elements in both
      write_number(sum, total(x.as<T>(), t.as<T>()));
    } else {
      const Dense xs = Dense::read(exec, x, x.dtype, Layout::row_major);
      const Dense ts = Dense::read(exec, t, x.dtype, Layout::row_major);
      write_number(sum, total(xs.as<T>(), ts.as<T>()));
    }
  });
  write_number(count, static_cast<double>(x.numel));
}

template <class F>
void pair_loss_grad(const Exec&, const View& x, const View& t, const View& dsum, const View& dx, F f) {
  visit_floating(x.dtype, [&]<class T>() {
    const auto scale = static_cast<Acc<T>>(read_number(dsum));
    nd_loop<3>({&dx, &x, &t}, [&](const auto& at, const auto& s, std::int64_t n) {
      grad_row<F, T>(f, x.as<T>() + at[1], t.as<T>() + at[2], scale, dx.as<T>() + at[0], n, s[1], s[2], s[0]);
    });
  });
}

#define REEL_INSTANTIATE(F)                                                                          \
  template void pair_loss(const Exec&, const View&, const View&, const View&, const View&, math::F); \
  template void pair_loss_grad(const Exec&, const View&, const View&, const View&, const View&, math::F);
REEL_FOR_EACH_PAIR_LOSS(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE

}  // namespace reel::kernels
