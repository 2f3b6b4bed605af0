// Extremes with their positions, and selection of several, on the CPU. Numbers are compared by
// integer keys (order_key_impl.h), in which ties and NaN have their place.
#include "reel/kernels/cpu/reduce_impl.h"
#include "reel/kernels/cpu/reduce_rows_impl.h"
#include "reel/kernels/reduce.h"

namespace reel::kernels {
namespace {

constexpr std::int64_t kScan = 128;

/// The first position of the extreme key: one fast pass for the key, one that ends at the first
/// match.
template <class T, bool Largest>
std::int64_t position(const T* x, std::int64_t n, std::int64_t step) {
  using R = ExtremeOf<T, Largest>;
  const auto best = run<R>(x, n, step, 0);
  std::int64_t i = 0;
  if (step == 1) {  // whole blocks first
    for (; i + kScan <= n; i += kScan) {
      bool found = false;
#pragma omp simd reduction(| : found)
      for (std::int64_t k = i; k < i + kScan; ++k) found |= R::term(x[k], 0) == best;
      if (found) break;
    }
  }
  while (R::term(x[i * step], 0) != best) ++i;
  return i;
}

template <class K>
struct Candidate {
  K key;
  std::int64_t at;
  bool operator<(const Candidate& o) const { return key != o.key ? key > o.key : at < o.at; }  // best first
};

template <class T>
void topk_row(Row<const T> x,
              std::int64_t n,
              bool largest,
              std::vector<Candidate<OrderKey<T>>>& all,
              Row<T> values,
              Row<std::int64_t> indices,
              std::int64_t k) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto key = order_key(x[i]);
    all[static_cast<std::size_t>(i)] = {largest ? key : ~key, i};
  }
  if (k < n) std::nth_element(all.begin(), all.begin() + k, all.end());
  std::sort(all.begin(), all.begin() + k);
  for (std::int64_t i = 0; i < k; ++i) {
    indices[i] = all[static_cast<std::size_t>(i)].at;
    values[i] = x[indices[i]];
  }
}

}  // namespace

void extreme_all(const Exec&, const View& x, bool largest, const View& y) {
  const unsigned all = (1u << x.rank()) - 1;
  visit(x.dtype, [&]<class T>() {
    const auto write = [&](std::int64_t, OrderKey<T> key) { *y.as<T>() = value_of<T>(key, largest); };
    if (largest)
      reduce<ExtremeOf<T, true>>(x, all, nullptr, write);
    else
      reduce<ExtremeOf<T, false>>(x, all, nullptr, write);
  });
}

void extreme(const Exec&, const View& x, int dim, bool largest, const View& values, const View& indices) {
  const std::int64_t n = row_size(x, dim), step = row_step(x, dim);
  const View rows = without(x, dim);
  View out = indices;  // under the shape of the rows, in case it kept the dimension
  out.shape = rows.shape;
  out.strides = row_major(rows.shape);
  visit(x.dtype, [&]<class T>() {
    for_rows<2>({&out, &rows}, n, [&](const auto& next, std::int64_t count) {
      for (std::int64_t r = 0; r < count; ++r) {
        const auto at = next();
        const T* row = x.as<T>() + at[1];
        const std::int64_t i = largest ? position<T, true>(row, n, step) : position<T, false>(row, n, step);
        indices.as<std::int64_t>()[at[0]] = i;
        if (values.data) values.as<T>()[at[0]] = row[i * step];
      }
    });
  });
}

void topk(const Exec&, const View& x, int dim, bool largest, const View& values, const View& indices) {
  const std::int64_t n = row_size(x, dim), k = row_size(values, dim), step = row_step(x, dim);
  if (k == 0) return;
  const std::int64_t out_step = row_step(values, dim);
  const View rows = without(x, dim), out = without(values, dim);
  visit(x.dtype, [&]<class T>() {
    for_rows<2>({&out, &rows}, n, [&](const auto& next, std::int64_t count) {
      std::vector<Candidate<OrderKey<T>>> all(static_cast<std::size_t>(n));
      for (std::int64_t r = 0; r < count; ++r) {
        const auto at = next();
        topk_row<T>({x.as<T>() + at[1], step}, n, largest, all, {values.as<T>() + at[0], out_step},
                    {indices.as<std::int64_t>() + at[0], out_step}, k);
      }
    });
  });
}

}  // namespace reel::kernels
