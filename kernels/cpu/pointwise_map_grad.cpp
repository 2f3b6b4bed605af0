// First and second derivatives of the one-input functions on the CPU.
#include "reel/kernels/cpu/pointwise_impl.h"

namespace reel::kernels {
namespace {

template <class F, class C>
void grad_row(const F f, C* dx, const C* x, const C* y, const C* dy, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] * f.df(x[i], y[i]);
}
template <class F, class C>
void grad2_row(const F f, C* out, const C* x, const C* y, const C* a, const C* b, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = a[i] * b[i] * f.ddf(x[i], y[i]);
}

}  // namespace

template <class F>
void map_grad(const Exec&, const View& x, const View& y, const View& dy, const View& dx, F f) {
  visit_computing(dx.dtype, [&]<class C>() {
    pointwise<C, C>(
        dx, [f](C* out, const auto& in, std::int64_t n) { grad_row(f, out, in[0], in[1], in[2], n); }, x, y, dy);
  });
}
template <class F>
void map_grad2(const Exec&, const View& x, const View& y, const View& a, const View& b, const View& out, F f) {
  visit_computing(out.dtype, [&]<class C>() {
    pointwise<C, C>(
        out, [f](C* o, const auto& in, std::int64_t n) { grad2_row(f, o, in[0], in[1], in[2], in[3], n); }, x, y, a, b);
  });
}

#define REEL_INSTANTIATE(F) \
  template void map_grad(const Exec&, const View&, const View&, const View&, const View&, math::F);
REEL_FOR_EACH_MAP(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE

#define REEL_INSTANTIATE(F) \
  template void map_grad2(const Exec&, const View&, const View&, const View&, const View&, const View&, math::F);
REEL_FOR_EACH_MAP_WITH_DDF(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE

}  // namespace reel::kernels
