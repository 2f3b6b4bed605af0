#include "reel/autograd/ops/dropout.h"

#include "reel/autograd/ops/common.h"
#include "reel/kernels/dropout.h"

namespace reel {

void Dropout::infer(Metas in, OutMetas& out) const {
  const Meta& x = *in[0];
  require_floating(kInfo.name, x);
  check<ValueError>(p >= 0 && p <= 1, kInfo.name, ": p must lie in [0, 1], but is ", p);
  out.add(x.shape, x.dtype, layout_like(x, x.shape));
}
void Dropout::forward(Inputs in, Outputs& out) const {
  kernels::dropout(exec_of(out[0]), in[0], out[0], p, seed, position);
}
void Dropout::backward(Backward& b) const {
  b.set(0, apply(*this, {b.dout()}));
}

Tensor dropout(const Tensor& x, double p, Generator& g) {
  Generator after = g;
  const std::uint64_t position = after.reserve(x.numel());
  Tensor y = apply(Dropout(p, g.seed(), position), {x});
  g = after;  // last: a call that throws takes no numbers
  return y;
}

}  // namespace reel
