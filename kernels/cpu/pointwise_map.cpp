// One-input functions on the CPU.
#include "reel/kernels/cpu/pointwise_impl.h"

namespace reel::kernels {
namespace {

template <class F, class C>
void map_row(const F f, C* y, const C* x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = f.f(x[i]);
}

}  // namespace

template <class F>
void map(const Exec&, const View& x, const View& y, F f) {
  visit_computing(y.dtype, [&]<class C>() {
    pointwise<C, C>(
        y, [f](C* out, const auto& in, std::int64_t n) { map_row(f, out, in[0], n); }, x);
  });
}

#define REEL_INSTANTIATE(F) template void map(const Exec&, const View&, const View&, math::F);
REEL_FOR_EACH_MAP(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE

}  // namespace reel::kernels
