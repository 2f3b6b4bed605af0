#pragma once
// How a reduction over any set of dimensions walks through memory.
#include <array>

#include "reel/kernels/view.h"

namespace reel::kernels {

/// Merged dimensions, slowest in memory first; at least one. Steps are in elements.
struct Axes {
  struct Axis {
    std::int64_t size, x, y;  // y: step in the output, 0 for reduced axes
  };
  std::array<Axis, kMaxRank + 1> axis;
  int rank = 0;
  std::int64_t count = 1;  // product of the sizes

  const Axis& inner() const { return axis[static_cast<std::size_t>(rank - 1)]; }
  /// Keeps the order by |x|; sizes of 1 are left out.
  void insert(const Axis& a);
  /// Joins neighbours that one step walks through alike.
  void merge();
};

/// y[kept] = combination of x[kept, reduced] over the reduced axes.
struct ReducePlan {
  Axes kept, reduced;
  /// Whether neighbours in memory belong to different outputs: then whole vectors of outputs are
  /// combined row by row. Otherwise each output combines a run of neighbours.
  bool columns = false;
};

ReducePlan make_reduce_plan(const View& x, unsigned dims);

/// Position in memory of a linear index into some axes, and how to get to the next one.
class Walk {
 public:
  /// Walks the first `rank` axes of `a` in row-major order from linear index `at`.
  Walk(const Axes& a, int rank, std::int64_t at) : a_(a), rank_(rank) {
    for (int d = rank - 1; d >= 0; --d) {
      const auto& axis = a.axis[static_cast<std::size_t>(d)];
      const std::int64_t i = index_[static_cast<std::size_t>(d)] = at % axis.size;
      at /= axis.size;
      x += i * axis.x;
      y += i * axis.y;
    }
  }
  void next() {
    for (int d = rank_ - 1; d >= 0; --d) {
      const auto& axis = a_.axis[static_cast<std::size_t>(d)];
      x += axis.x;
      y += axis.y;
      if (++index_[static_cast<std::size_t>(d)] < axis.size) return;
      x -= axis.x * axis.size;
      y -= axis.y * axis.size;
      index_[static_cast<std::size_t>(d)] = 0;
    }
  }
  std::int64_t x = 0, y = 0;

 private:
  const Axes& a_;
  int rank_;
  std::array<std::int64_t, kMaxRank + 1> index_;  // the first rank_ are set
};

}  // namespace reel::kernels
