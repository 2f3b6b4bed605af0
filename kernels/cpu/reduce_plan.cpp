#include "reel/kernels/cpu/reduce_plan_impl.h"

#include <cstdlib>

namespace reel::kernels {

void Axes::insert(const Axis& a) {
  count *= a.size;
  if (a.size == 1) return;
  auto at = static_cast<std::size_t>(rank++);
  for (; at > 0 && std::abs(axis[at - 1].x) < std::abs(a.x); --at) axis[at] = axis[at - 1];
  axis[at] = a;
}

void Axes::merge() {
  if (rank == 0) axis[static_cast<std::size_t>(rank++)] = {1, 0, 0};
  std::size_t last = 0;
  for (std::size_t i = 1; i < static_cast<std::size_t>(rank); ++i) {
    const Axis a = axis[i];
    Axis& outer = axis[last];
    if (outer.x == a.x * a.size && outer.y == a.y * a.size)
      outer = {outer.size * a.size, a.x, a.y};
    else
      axis[++last] = a;
  }
  rank = static_cast<int>(last) + 1;
}

ReducePlan make_reduce_plan(const View& x, unsigned dims) {
  ReducePlan p;
  if (x.contiguous() && (dims & (dims + 1)) == 0 &&
      dims + 1 < 1u << x.rank()) {  // leading dimensions of a dense tensor
    std::int64_t rows = 1, n = 1;
    for (int d = 0; d < x.rank(); ++d) ((dims >> d) & 1u ? rows : n) *= x.shape[d];
    p.kept.insert({n, 1, 1});
    p.reduced.insert({rows, n, 0});
    p.kept.merge();
    p.reduced.merge();
    p.columns = n > 1;
    return p;
  }
  Strides y = x.shape;  // steps of the dense output
  std::int64_t step = 1;
  for (int d = x.rank() - 1; d >= 0; --d) {
    y[d] = (dims >> d) & 1u ? 0 : step;
    if (y[d]) step *= x.shape[d];
  }
  for (int d = 0; d < x.rank(); ++d) ((dims >> d) & 1u ? p.reduced : p.kept).insert({x.shape[d], x.strides[d], y[d]});
  p.kept.merge();
  p.reduced.merge();
  const auto &k = p.kept.inner(), &r = p.reduced.inner();
  p.columns = k.size > 1 && k.x != 0 && (r.size == 1 || std::abs(k.x) < std::abs(r.x));
  return p;
}

}  // namespace reel::kernels
