#pragma once
// Walks the rows of several operands along one dimension, for kernels that take a row as a whole.
#include <algorithm>
#include <vector>

#include "reel/kernels/cpu/nd_loop_impl.h"

namespace reel::kernels {

/// A row: n elements, `step` apart.
template <class T>
struct Row {
  T* p;
  std::int64_t step;
  T& operator[](std::int64_t i) const { return p[i * step]; }
};

/// Size and step of a dimension; a scalar is one row of one element.
inline std::int64_t row_size(const View& v, int dim) {
  return v.rank() ? v.shape[dim] : 1;
}
inline std::int64_t row_step(const View& v, int dim) {
  return v.rank() && v.shape[dim] != 1 ? v.strides[dim] : 1;
}
inline View without(View v, int dim) {
  if (v.rank() == 0) return v;
  v.numel = 1;
  v.shape.erase(dim);
  v.strides.erase(dim);
  for (const std::int64_t s : v.shape) v.numel *= s;
  v.layout = Layout::strided;
  return v;
}

/// Rows in one piece of parallel work.
inline std::int64_t row_grain(std::int64_t n) {
  return std::max<std::int64_t>(1, kPointwiseGrain / std::max<std::int64_t>(1, n));
}

/// Calls piece(next, rows) for pieces of the rows, on several threads; each `next()` gives the
/// offsets, in elements, of the next row of every operand. The operands are views without the row's
/// dimension (see `without`), all of one shape. `n` is the length of a row.
template <int N, class Piece>
void for_rows(const std::array<const View*, N>& v, std::int64_t n, const Piece& piece) {
  if (v[0]->numel == 0) return;
  const Plan<N> p = make_plan<N>(v);
  parallel_for(v[0]->numel, row_grain(n), [&](std::int64_t begin, std::int64_t end) {
    std::array<std::int64_t, kMaxRank> index{};
    std::array<std::int64_t, N> at{};
    for (std::int64_t rest = begin, d = p.rank - 1; d >= 0; --d) {
      index[d] = rest % p.shape[d];
      rest /= p.shape[d];
      for (int k = 0; k < N; ++k) at[k] += index[d] * p.step[k][d];
    }
    const auto next = [&] {
      const auto now = at;
      for (int d = p.rank - 1; d >= 0; --d) {
        for (int k = 0; k < N; ++k) at[k] += p.step[k][d];
        if (++index[d] < p.shape[d]) break;
        for (int k = 0; k < N; ++k) at[k] -= p.step[k][d] * p.shape[d];
        index[d] = 0;
      }
      return now;
    };
    piece(next, end - begin);
  });
}

/// Room for one row that lives on the stack when it is short.
template <class A>
class RowBuffer {
 public:
  explicit RowBuffer(std::int64_t n) : heap_(n > kFew ? static_cast<std::size_t>(n) : 0) {}
  A* data() { return heap_.empty() ? few_ : heap_.data(); }

 private:
  static constexpr std::int64_t kFew = 256;
  A few_[kFew];
  std::vector<A> heap_;
};

}  // namespace reel::kernels
