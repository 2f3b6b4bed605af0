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
  std::int64_t inner = 1, rows = 1;                        // elements of the last dimension; all others
  std::array<std::int64_t, kMaxRank> shape;                // collapsed; fastest last
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

template <int N>
using Offsets = std::array<std::int64_t, N>;
/// A loop body behind a pointer, so that the walk is compiled once and not for every function.
template <int N>
using RowBody = void (*)(const void* body, const Offsets<N>& at, const Offsets<N>& step, std::int64_t n);
/// Defined in nd_loop.cpp for N from 1 to 5.
template <int N>
void walk_rows(const std::array<const View*, N>& v, RowBody<N> row, const void* body);

/// Calls row(offsets, steps, n) for runs of n elements: operand k starts at offsets[k] and moves by
/// steps[k], both in elements. Runs are spread over threads.
template <int N, class Body>
void nd_loop(const std::array<const View*, N>& v, const Body& row) {
  walk_rows<N>(
      v,
      [](const void* body, const Offsets<N>& at, const Offsets<N>& step, std::int64_t n) {
        (*static_cast<const Body*>(body))(at, step, n);
      },
      &row);
}

}  // namespace reel::kernels
