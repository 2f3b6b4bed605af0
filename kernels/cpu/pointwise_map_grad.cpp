// First and second derivatives of the one-input functions on the CPU.
#include "reel/kernels/cpu/pointwise_impl.h"

namespace reel::kernels {

#define REEL_INSTANTIATE(F) \
  template void map_grad(const Exec&, const View&, const View&, const View&, const View&, math::F);
REEL_FOR_EACH_MAP(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE

#define REEL_INSTANTIATE(F) \
  template void map_grad2(const Exec&, const View&, const View&, const View&, const View&, const View&, math::F);
REEL_FOR_EACH_MAP_WITH_DDF(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE

}  // namespace reel::kernels
