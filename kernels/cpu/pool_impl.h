#pragma once
// What maximum and average pooling share: images as [n, h, w, c], and rows summed in a wider type.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "reel/kernels/pool.h"

namespace reel::kernels {

/// n images of h rows of w columns of c channels, dense. Row-major planes are images of one
/// channel.
struct PoolPlanes {
  std::int64_t n, h, w, c;
  std::int64_t row() const { return w * c; }
  std::int64_t image() const { return h * w * c; }
};
inline PoolPlanes planes(const Shape& s, Layout layout) {
  if (layout == Layout::channels_last) return {s[0], s[2], s[3], s[1]};
  return {s[0] * s[1], s[2], s[3], 1};
}
/// The layout to work in. Loops over channels are vector code and loops over the columns of a
/// window are not, so that even a row-major tensor is faster through a copy, unless its channels
/// are very few.
inline Layout pool_layout(const View& v) {
  constexpr std::int64_t kFew = 4;
  return v.layout == Layout::channels_last || v.shape[1] > kFew ? Layout::channels_last : Layout::row_major;
}
/// Rows in one chunk of parallel work.
inline std::int64_t pool_grain(const PoolPlanes& x) {
  constexpr std::int64_t kElements = 1 << 14;
  return std::max<std::int64_t>(1, kElements / std::max<std::int64_t>(1, 2 * x.row()));
}

/// A row that is summed in Acc<T> and stored as T: in place where these are the same type.
template <class T>
class PoolRow {
 public:
  explicit PoolRow(std::int64_t n) : n_(n), wide_(kInPlace ? 0 : static_cast<std::size_t>(n)) {}
  template <class Fn>
  void fill(T* row, const Fn& fn) {
    if constexpr (kInPlace) {
      fn(row);
    } else {
      Acc<T>* const wide = wide_.data();
      fn(wide);
#pragma omp simd
      for (std::int64_t i = 0; i < n_; ++i) row[i] = convert<T>(wide[i]);
    }
  }

 private:
  static constexpr bool kInPlace = std::is_same_v<T, Acc<T>>;
  std::int64_t n_;
  std::vector<Acc<T>> wide_;
};

}  // namespace reel::kernels
