// Products and running sums along one dimension, on the CPU. A row is a chain of dependent steps,
// so rows are what is spread over threads; running sums of floating types are kept in double.
#include "reel/kernels/cpu/reduce_impl.h"
#include "reel/kernels/cpu/reduce_rows_impl.h"
#include "reel/kernels/reduce.h"

namespace reel::kernels {
namespace {

template <class T>
using Stored = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;  // results for inputs of type T

template <class T, class S>
Stored<T> stored(S s) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::int64_t>(s);
  else
    return convert<T>(s);
}

template <class T>
SumState<T> product(Row<const T> x, std::int64_t n) {
  SumState<T> s = 1;
  for (std::int64_t i = 0; i < n; ++i) s *= to_state(x[i]);
  return s;
}

/// Products of what lies before each element, then joined with those of what lies after.
template <class T, class A>
void prod_grad_row(Row<const T> x, A dy, Row<T> dx, A* before, std::int64_t n) {
  A p = dy;
  for (std::int64_t i = 0; i < n; ++i) {
    before[i] = p;
    p *= convert<A>(x[i]);
  }
  A after = 1;
  for (std::int64_t i = n - 1; i >= 0; --i) {
    dx[i] = convert<T>(before[i] * after);
    after *= convert<A>(x[i]);
  }
}

constexpr std::int64_t kGroup = 16;  // rows with gaps are summed side by side: their elements share cache lines

/// `rows` rows of n elements that begin at x + at[b][1] and y + at[b][0].
template <class T>
void cumsum_rows(const T* x,
                 Stored<T>* y,
                 const std::array<std::int64_t, 2>* at,
                 std::int64_t rows,
                 std::int64_t n,
                 std::int64_t step,
                 std::int64_t out_step) {
  std::conditional_t<std::is_integral_v<T>, std::uint64_t, double> s[kGroup] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t b = 0; b < rows; ++b) {
      s[b] += to_state(x[at[b][1] + i * step]);
      y[at[b][0] + i * out_step] = stored<T>(s[b]);
    }
  }
}

}  // namespace

void prod(const Exec&, const View& x, int dim, const View& y) {
  const std::int64_t n = row_size(x, dim), step = row_step(x, dim);
  const View rows = without(x, dim);
  View out = y;  // under the shape of the rows, in case it kept the dimension
  out.shape = rows.shape;
  out.strides = row_major(rows.shape);
  visit(x.dtype, [&]<class T>() {
    for_rows<2>({&out, &rows}, n, [&](const auto& next, std::int64_t count) {
      for (std::int64_t r = 0; r < count; ++r) {
        const auto at = next();
        out.as<Stored<T>>()[at[0]] = stored<T>(product<T>({x.as<T>() + at[1], step}, n));
      }
    });
  });
}

void prod_grad(const Exec&, const View& x, const View& dy, int dim, const View& dx) {
  const std::int64_t n = row_size(x, dim), step = row_step(x, dim), out_step = row_step(dx, dim);
  const View out = without(dx, dim), rows = without(x, dim);
  View d = dy;
  if (dy.rank() == x.rank()) d = without(dy, dim);
  visit_floating(x.dtype, [&]<class T>() {
    using A = Acc<T>;
    for_rows<3>({&out, &rows, &d}, n, [&](const auto& next, std::int64_t count) {
      RowBuffer<A> before(n);
      for (std::int64_t r = 0; r < count; ++r) {
        const auto at = next();
        prod_grad_row<T, A>({x.as<T>() + at[1], step}, convert<A>(dy.as<T>()[at[2]]), {dx.as<T>() + at[0], out_step},
                            before.data(), n);
      }
    });
  });
}

void cumsum(const Exec&, const View& x, int dim, bool reverse, const View& y) {
  const std::int64_t n = row_size(x, dim), first = reverse ? n - 1 : 0, sign = reverse ? -1 : 1;
  const std::int64_t step = row_step(x, dim), out_step = row_step(y, dim);
  if (n == 0) return;
  const View out = without(y, dim), rows = without(x, dim);
  visit(x.dtype, [&]<class T>() {
    for_rows<2>({&out, &rows}, n, [&](const auto& next, std::int64_t count) {
      std::array<std::int64_t, 2> at[kGroup];
      const std::int64_t most = step == 1 ? 1 : kGroup;
      for (std::int64_t r = 0; r < count; r += most) {
        const std::int64_t together = std::min(most, count - r);
        for (std::int64_t b = 0; b < together; ++b) at[b] = next();
        cumsum_rows<T>(x.as<T>() + first * step, y.as<Stored<T>>() + first * out_step, at, together, n, sign * step,
                       sign * out_step);
      }
    });
  });
}

}  // namespace reel::kernels
