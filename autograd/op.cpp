#include "reel/autograd/op.h"

#include "reel/autograd/backward.h"

namespace reel {

std::string_view name_of(Cast c) {
  constexpr std::string_view names[] = {"lower", "fused f32", "f32", "widest", "keep"};
  return names[static_cast<int>(c)];
}

void Op::backward(Backward&) const {
  fail<GradError>(info().name, ": has no derivative of its own. ",
                  info().differentiable
                      ? "It is the backward pass of another op, so a second derivative is needed here: "
                        "build the expression from ops whose backward is made of ops"
                      : "Its result is a constant to every tape");
}

Cost Op::cost(Metas in, std::span<const Meta> out) const {
  Cost c;
  for (const Meta* m : in)
    if (m) c.bytes += m->bytes();
  for (const Meta& m : out) {
    c.bytes += m.bytes();
    c.flops += static_cast<double>(m.numel);
  }
  return c;
}

void Backward::refuse(const Recorded& r, const char* what, int i) const {
  check<GradError>(static_cast<bool>(r.tensor), op_.info().name, ": backward reads ", what, " ", i,
                   ", which its saves() did not ask the tape to keep");
  fail<GradError>(op_.info().name, ": ", what, " ", i, " ", r.tensor.shape(),
                  " was changed in place after the op had saved it (version ", r.version, ", now ", r.tensor.version(),
                  "). Change a copy instead, or make the change after backward");
}

}  // namespace reel
