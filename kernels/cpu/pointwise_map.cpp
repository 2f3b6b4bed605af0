// One-input functions on the CPU. Their gradients are in a file of their own, since both take long to compile.
#include "reel/kernels/cpu/pointwise_impl.h"

namespace reel::kernels {

#define REEL_INSTANTIATE(F) template void map(const Exec&, const View&, const View&, math::F);
REEL_FOR_EACH_MAP(REEL_INSTANTIATE)
#undef REEL_INSTANTIATE

}  // namespace reel::kernels
