// Two-input functions and comparisons on the CPU.
#include "reel/kernels/cpu/pointwise_impl.h"

namespace reel::kernels {

template <class F>
void zip(const Exec&, const View& a, const View& b, const View& y, F f) {
  visit(y.dtype, [&]<class T>() {
    constexpr bool floating_only = std::is_same_v<F, math::Div> || std::is_same_v<F, math::Pow>;
    if constexpr (!std::is_same_v<T, bool> && !(floating_only && std::is_integral_v<T>)) zip_loop<T, T>(a, b, y, f);
    else fail<DTypeError>("zip: no kernel for ", name_of(y.dtype));
  });
}
template <class F>
void compare(const Exec&, const View& a, const View& b, const View& y, F f) {
  visit(a.dtype, [&]<class T>() { zip_loop<T, bool>(a, b, y, f); });
}

#define REEL_INSTANTIATE(F) template void zip(const Exec&, const View&, const View&, const View&, math::F);
REEL_FOR_EACH_ZIP(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE
#define REEL_INSTANTIATE(F) template void compare(const Exec&, const View&, const View&, const View&, math::F);
REEL_FOR_EACH_COMPARE(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE

}  // namespace reel::kernels
