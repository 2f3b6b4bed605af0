#pragma once
// For kernels that walk rows: rows in the type that sums are kept in, operands that may be left
// out, and sums in a fixed order.
#include <algorithm>
#include <optional>
#include <vector>

#include "reel/core/parallel.h"
#include "reel/kernels/cpu/dense_impl.h"

namespace reel::kernels {

inline constexpr std::int64_t kWideGrain = 1 << 14;  // elements in one piece of parallel work
/// Rows of `width` elements that make one piece of parallel work.
inline std::int64_t rows_per_piece(std::int64_t width) {
  return std::max<std::int64_t>(1, kWideGrain / std::max<std::int64_t>(1, width));
}

/// Sum of fn(begin, end) over pieces of [0, n), added in order.
template <class Fn>
double ordered_sum(std::int64_t n, std::int64_t grain, const Fn& fn) {
  if (n <= grain) return n > 0 ? fn(std::int64_t{0}, n) : 0.0;
  std::vector<double> part(static_cast<std::size_t>((n + grain - 1) / grain));
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    part[static_cast<std::size_t>(begin / grain)] = fn(begin, end);
  });
  double sum = 0;
  for (const double p : part) sum += p;
  return sum;
}

template <class T>
inline constexpr bool is_wide = std::is_same_v<T, Acc<T>>;

/// Scratch for one row, none where the row can be used as it lies.
template <class T>
std::vector<Acc<T>> row_buffer(std::int64_t n) {
  return std::vector<Acc<T>>(is_wide<T> ? 0 : static_cast<std::size_t>(n));
}
/// A row in the accumulation type: the row itself, or `buffer` filled from it.
template <class T>
const Acc<T>* widen(const T* x, Acc<T>* buffer, std::int64_t n) {
  if constexpr (is_wide<T>) {
    return x;
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) buffer[i] = convert<Acc<T>>(x[i]);
    return buffer;
  }
}
/// Where to compute a result row: the row itself, or `buffer`, which `narrow` then rounds into it.
template <class T>
Acc<T>* wide_row(T* y, Acc<T>* buffer) {
  if constexpr (is_wide<T>)
    return y;
  else
    return buffer;
}
template <class T>
void narrow(const Acc<T>* buffer, T* y, std::int64_t n) {
  if constexpr (!is_wide<T>) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = convert<T>(buffer[i]);
  }
}

/// The numbers of an operand in row-major order as A; null where it was left out.
template <class A>
class Optional {
 public:
  Optional(const Exec& exec, const View& v) {
    if (v.data) dense_ = Dense::read(exec, v, dtype_of<A>(), Layout::row_major);
  }
  const A* data() const { return dense_ ? dense_->template as<A>() : nullptr; }
  A operator[](std::int64_t i) const { return data()[i]; }
  A at_or(std::int64_t i, A otherwise) const { return dense_ ? data()[i] : otherwise; }

 private:
  std::optional<Dense> dense_;
};

/// A view of plain memory, row-major.
template <class T>
View view_of(T* data, const Shape& shape) {
  View v;
  v.data = reinterpret_cast<std::byte*>(data);
  v.shape = shape;
  v.strides = row_major(shape);
  v.numel = numel(shape);
  v.dtype = dtype_of<T>();
  return v;
}

}  // namespace reel::kernels
