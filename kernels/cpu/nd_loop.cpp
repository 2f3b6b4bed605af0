// The walk over any strides, for one to five operands.
#include "reel/kernels/cpu/nd_loop_impl.h"

namespace reel::kernels {

template <int N>
void walk_rows(const std::array<const View*, N>& v, RowBody<N> row, const void* body) {
  const View& out = *v[0];
  if (out.numel == 0) return;
  bool flat = out.layout != Layout::strided;
  for (int k = 1; k < N && flat; ++k) flat = v[k]->layout == out.layout && v[k]->shape == out.shape;
  if (flat) {  // the common case needs no plan
    Offsets<N> ones;
    ones.fill(1);
    if (out.numel <= kPointwiseGrain) {
      row(body, Offsets<N>{}, ones, out.numel);
      return;
    }
    parallel_for(out.numel, kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
      Offsets<N> at;
      at.fill(begin);
      row(body, at, ones, end - begin);
    });
    return;
  }
  if (out.rank() == 1) {
    Offsets<N> step;
    for (int k = 0; k < N; ++k) step[k] = v[k]->rank() == 0 || v[k]->shape[0] == 1 ? 0 : v[k]->strides[0];
    parallel_for(out.numel, kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
      Offsets<N> at;
      for (int k = 0; k < N; ++k) at[k] = begin * step[k];
      row(body, at, step, end - begin);
    });
    return;
  }
  const Plan<N> p = make_plan<N>(v);
  Offsets<N> inner_step;
  for (int k = 0; k < N; ++k) inner_step[k] = p.step[k][p.rank - 1];
  if (p.rows == 1) {
    parallel_for(p.inner, kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
      Offsets<N> at;
      for (int k = 0; k < N; ++k) at[k] = begin * inner_step[k];
      row(body, at, inner_step, end - begin);
    });
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, kPointwiseGrain / std::max<std::int64_t>(1, p.inner));
  parallel_for(p.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::int64_t, kMaxRank> index{};
    Offsets<N> at{};
    for (std::int64_t rest = begin, d = p.rank - 2; d >= 0; --d) {
      index[d] = rest % p.shape[d];
      rest /= p.shape[d];
      for (int k = 0; k < N; ++k) at[k] += index[d] * p.step[k][d];
    }
    for (std::int64_t r = begin; r < end; ++r) {
      row(body, at, inner_step, p.inner);
      for (int d = p.rank - 2; d >= 0; --d) {
        for (int k = 0; k < N; ++k) at[k] += p.step[k][d];
        if (++index[d] < p.shape[d]) break;
        for (int k = 0; k < N; ++k) at[k] -= p.step[k][d] * p.shape[d];
        index[d] = 0;
      }
    }
  });
}

template void walk_rows<1>(const std::array<const View*, 1>&, RowBody<1>, const void*);
template void walk_rows<2>(const std::array<const View*, 2>&, RowBody<2>, const void*);
template void walk_rows<3>(const std::array<const View*, 3>&, RowBody<3>, const void*);
template void walk_rows<4>(const std::array<const View*, 4>&, RowBody<4>, const void*);
template void walk_rows<5>(const std::array<const View*, 5>&, RowBody<5>, const void*);

}  // namespace reel::kernels
