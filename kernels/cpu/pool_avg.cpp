// Average pooling on the CPU, over windows given as one list of spans for each axis. A sum over a
// window is a sum over its rows, then over its columns, so the first of the two runs along whole
// rows of memory. The unit of work is one row: of y on the way forth, of x on the way back.
#include "reel/core/parallel.h"
#include "reel/kernels/cpu/dense_impl.h"
#include "reel/kernels/cpu/pool_impl.h"

namespace reel::kernels {
namespace {

template <class T>
void add_row(const T* x, Acc<T>* sum, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) sum[i] += convert<Acc<T>>(x[i]);
}

template <class T>
void add_quotients(const T* x, Acc<T> divisor, Acc<T>* sum, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) sum[i] += convert<Acc<T>>(x[i]) / divisor;
}

template <class T>
void store_quotients(const Acc<T>* sum, Acc<T> divisor, T* y, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = convert<T>(sum[i] / divisor);
}

template <class T>
void avg_row(const PoolPlanes& p,
             const T* image,
             const PoolSpan& rows,
             const PoolSpans& columns,
             Acc<T>* sums,
             Acc<T>* cell,
             T* y) {
  std::fill_n(sums, p.row(), Acc<T>{});
  for (std::int64_t i = rows.begin; i < rows.end; ++i) add_row(image + i * p.row(), sums, p.row());
  for (const PoolSpan& span : columns) {
    std::fill_n(cell, p.c, Acc<T>{});
    for (std::int64_t j = span.begin; j < span.end; ++j) add_row(sums + j * p.c, cell, p.c);
    store_quotients(cell, static_cast<Acc<T>>(rows.size) * static_cast<Acc<T>>(span.size), y, p.c);
    y += p.c;
  }
}

/// For each element of an axis, the outputs [first, last) whose span holds it.
struct Reach {
  std::int64_t first, last;
};
std::vector<Reach> reach_of(const PoolSpans& spans, std::int64_t size) {
  std::vector<Reach> r(static_cast<std::size_t>(size));
  std::int64_t first = 0, last = 0;
  const auto count = static_cast<std::int64_t>(spans.size());
  for (std::int64_t i = 0; i < size; ++i) {
    while (first < count && spans[static_cast<std::size_t>(first)].end <= i) ++first;
    while (last < count && spans[static_cast<std::size_t>(last)].begin <= i) ++last;
    r[static_cast<std::size_t>(i)] = {first, std::max(first, last)};
  }
  return r;
}

}  // namespace

void avg_pool2d(const Exec& exec, const View& x, const View& y, const PoolSpans& rows, const PoolSpans& columns) {
  if (y.numel == 0) return;
  const Layout layout = pool_layout(y);
  const PoolPlanes px = planes(x.shape, layout), py = planes(y.shape, layout);
  const auto in = Dense::read(exec, x, x.dtype, layout);
  const Dense out(y, y.dtype, layout);
  visit_floating(y.dtype, [&]<class T>() {
    parallel_for(py.n * py.h, pool_grain(px), [&](std::int64_t begin, std::int64_t end) {
      std::vector<Acc<T>> sums(static_cast<std::size_t>(px.row())), cell(static_cast<std::size_t>(px.c));
      for (std::int64_t u = begin; u < end; ++u)
        avg_row(px, in.as<T>() + u / py.h * px.image(), rows[static_cast<std::size_t>(u % py.h)], columns, sums.data(),
                cell.data(), out.as<T>() + u * py.row());
    });
  });
  out.write(exec);
}

void avg_pool2d_grad(
    const Exec& exec, const View& dy, const View& dx, const PoolSpans& rows, const PoolSpans& columns) {
  if (dx.numel == 0) return;
  const Layout layout = pool_layout(dx);
  const PoolPlanes px = planes(dx.shape, layout), py = planes(dy.shape, layout);
  const auto in = Dense::read(exec, dy, dy.dtype, layout);
  const Dense out(dx, dx.dtype, layout);
  const std::vector<Reach> row_reach = reach_of(rows, px.h), column_reach = reach_of(columns, px.w);
  visit_floating(dx.dtype, [&]<class T>() {
    parallel_for(px.n * px.h, pool_grain(px), [&](std::int64_t begin, std::int64_t end) {
      PoolRow<T> row(px.row());
      std::vector<Acc<T>> shares(static_cast<std::size_t>(py.row()));
      for (std::int64_t u = begin; u < end; ++u) {
        const auto [first, last] = row_reach[static_cast<std::size_t>(u % px.h)];
        std::fill(shares.begin(), shares.end(), Acc<T>{});
        for (std::int64_t o = first; o < last; ++o) {
          const T* g = in.as<T>() + u / px.h * py.image() + o * py.row();
          const auto height = static_cast<Acc<T>>(rows[static_cast<std::size_t>(o)].size);
          for (std::int64_t j = 0; j < py.w; ++j)
            add_quotients(g + j * py.c, height * static_cast<Acc<T>>(columns[static_cast<std::size_t>(j)].size),
                          shares.data() + j * py.c, py.c);
        }
        row.fill(out.as<T>() + u * px.row(), [&](Acc<T>* to) {
          std::fill_n(to, px.row(), Acc<T>{});
          for (std::int64_t i = 0; i < px.w; ++i)
            for (std::int64_t j = column_reach[static_cast<std::size_t>(i)].first;
                 j < column_reach[static_cast<std::size_t>(i)].last; ++j)
              add_row(shares.data() + j * py.c, to + i * px.c, px.c);
        });
      }
    });
  });
  out.write(exec);
}

}  // namespace reel::kernels
