#pragma once
#include "reel/kernels/view.h"

namespace reel::kernels {

/// y = x / (1 - p) where an element is kept, else 0 (Srivastava et al. 2014). Element i, counted in
/// row-major order whatever the strides, is kept if word i % 4 of block position + i / 4 of the
/// Philox stream of `seed`, as a number in [0, 1), is at least p.
void dropout(const Exec&, const View& x, const View& y, double p, std::uint64_t seed, std::uint64_t position);

}  // namespace reel::kernels
