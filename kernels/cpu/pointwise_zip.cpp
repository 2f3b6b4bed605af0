// Two-input functions and comparisons on the CPU.
#include "reel/kernels/cpu/pointwise_impl.h"

namespace reel::kernels {
namespace {

template <class F, class C, class R>
void zip_row(R* y, const C* a, const C* b, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(F::f(a[i], b[i]));
}

template <class C, class R, class F>
void zip_as(const View& a, const View& b, const View& y) {
  pointwise<C, R>(
      y, [](R* out, const auto& in, std::int64_t n) { zip_row<F>(out, in[0], in[1], n); }, a, b);
}

}  // namespace

template <class F>
void zip(const Exec&, const View& a, const View& b, const View& y, F) {
  constexpr bool floating_only = std::is_same_v<F, math::Div> || std::is_same_v<F, math::Pow>;
  if (is_floating(y.dtype)) return visit_computing(y.dtype, [&]<class C>() { zip_as<C, C, F>(a, b, y); });
  visit(y.dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && !floating_only)
      zip_as<T, T, F>(a, b, y);
    else
      fail<DTypeError>("zip: no kernel for ", name_of(y.dtype));
  });
}
template <class F>
void compare(const Exec&, const View& a, const View& b, const View& y, F) {
  if (is_floating(a.dtype)) return visit_computing(a.dtype, [&]<class C>() { zip_as<C, bool, F>(a, b, y); });
  visit(a.dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) zip_as<T, bool, F>(a, b, y);
  });
}

#define REEL_INSTANTIATE(F) template void zip(const Exec&, const View&, const View&, const View&, math::F);
REEL_FOR_EACH_ZIP(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE
#define REEL_INSTANTIATE(F) template void compare(const Exec&, const View&, const View&, const View&, math::F);
REEL_FOR_EACH_COMPARE(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE

}  // namespace reel::kernels
