#pragma once
// Walks several operands of one output in the order of the output's memory.
#include <array>
#include <cstdlib>

#include "reel/core/parallel.h"
#include "reel/kernels/view.h"

namespace reel::kernels {

inline constexpr std::int64_t kPointwiseGrain = 1 << 14;  // elements in one chunk of parallel work

/// The common iteration space of N operands; operand 0 is the output and gives the shape.
template <int N>
struct Plan {
  int rank = 0;
  std::int64_t inner = 1, rows = 1;                      // elements of the last dimension; all others
  std::array<std::int64_t, kMaxRank> shape;              // collapsed; fastest last
  std::array<std::array<std::int64_t, kMaxRank>, N> step;  // in elements; 0 repeats
};

template <int N>
Plan<N> make_plan(const std::array<const View*, N>& v) {
  Plan<N> p;
  const View& out = *v[0];
  std::array<int, kMaxRank> order;  // dimensions of the output, slowest in memory first
  int n = 0;
  for (int d = 0; d < out.rank(); ++d) {
    if (out.shape[d] == 1) continue;
    int at = n++;
    for (; at > 0 && std::abs(out.strides[order[at - 1]]) < std::abs(out.strides[d]); --at) order[at] = order[at - 1];
    order[at] = d;
  }
  for (int i = 0; i < n; ++i) {
    const int d = order[i];
    std::array<std::int64_t, N> step;
    for (int k = 0; k < N; ++k) {
      const int e = d - (out.rank() - v[k]->rank());
      step[k] = e < 0 || v[k]->shape[e] == 1 ? 0 : v[k]->strides[e];
    }
    bool merge = p.rank > 0;
    for (int k = 0; k < N && merge; ++k) merge = p.step[k][p.rank - 1] == step[k] * out.shape[d];
    const int slot = merge ? p.rank - 1 : p.rank++;
    p.shape[slot] = merge ? p.shape[slot] * out.shape[d] : out.shape[d];
    for (int k = 0; k < N; ++k) p.step[k][slot] = step[k];
  }
  if (p.rank == 0) {  // one element
    p.rank = 1;
    p.shape[0] = 1;
    for (int k = 0; k < N; ++k) p.step[k][0] = 1;
  }
  p.inner = p.shape[p.rank - 1];
  for (int d = 0; d + 1 < p.rank; ++d) p.rows *= p.shape[d];
  return p;
}

/// Calls row(offsets, steps, n) for runs of n elements: operand k starts at offsets[k] and moves by
/// steps[k], both in elements. Runs are spread over threads.
template <int N, class Row>
void nd_loop(const std::array<const View*, N>& v, const Row& row) {
  const View& out = *v[0];
  if (out.numel == 0) return;
  bool flat = out.layout != Layout::strided;
  for (int k = 1; k < N && flat; ++k) flat = v[k]->layout == out.layout && v[k]->shape == out.shape;
  if (flat) {  // the common case needs no plan
    std::array<std::int64_t, N> ones;
    ones.fill(1);
    if (out.numel <= kPointwiseGrain) {
      row(std::array<std::int64_t, N>{}, ones, out.numel);
      return;
    }
    parallel_for(out.numel, kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
      std::array<std::int64_t, N> at;
      at.fill(begin);
      row(at, ones, end - begin);
    });
    return;
  }
  if (out.rank() == 1) {
    std::array<std::int64_t, N> step;
    for (int k = 0; k < N; ++k) step[k] = v[k]->rank() == 0 || v[k]->shape[0] == 1 ? 0 : v[k]->strides[0];
    parallel_for(out.numel, kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
      std::array<std::int64_t, N> at;
      for (int k = 0; k < N; ++k) at[k] = begin * step[k];
      row(at, step, end - begin);
    });
    return;
  }
  const Plan<N> p = make_plan<N>(v);
  std::array<std::int64_t, N> inner_step;
  for (int k = 0; k < N; ++k) inner_step[k] = p.step[k][p.rank - 1];
  if (p.rows == 1) {
    parallel_for(p.inner, kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
      std::array<std::int64_t, N> at;
      for (int k = 0; k < N; ++k) at[k] = begin * inner_step[k];
      row(at, inner_step, end - begin);
    });
    return;
  }
  const std::int64_t grain = std::max<std::int64_t>(1, kPointwiseGrain / std::max<std::int64_t>(1, p.inner));
  parallel_for(p.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    std::array<std::int64_t, kMaxRank> index{};
    std::array<std::int64_t, N> at{};
    for (std::int64_t rest = begin, d = p.rank - 2; d >= 0; --d) {
      index[d] = rest % p.shape[d];
      rest /= p.shape[d];
      for (int k = 0; k < N; ++k) at[k] += index[d] * p.step[k][d];
    }
    for (std::int64_t r = begin; r < end; ++r) {
      row(at, inner_step, p.inner);
      for (int d = p.rank - 2; d >= 0; --d) {
        for (int k = 0; k < N; ++k) at[k] += p.step[k][d];
        if (++index[d] < p.shape[d]) break;
        for (int k = 0; k < N; ++k) at[k] -= p.step[k][d] * p.shape[d];
        index[d] = 0;
      }
    }
  });
}

}  // namespace reel::kernels
