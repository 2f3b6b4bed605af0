#pragma once
// Reductions over any dimensions: cuts the work into pieces for threads. The reducer R that says
// what is combined is described in reduce_loops_impl.h. Pieces depend on shapes and strides alone.
#include <algorithm>
#include <vector>

#include "reel/core/parallel.h"
#include "reel/kernels/cpu/order_key_impl.h"
#include "reel/kernels/cpu/reduce_loops_impl.h"

namespace reel::kernels {

inline constexpr std::int64_t kReduceGrain = 1 << 16;  // elements in one piece of parallel work

/// How many pieces the terms of each output are cut into: 1 unless there are many terms and too few
/// outputs to keep several threads busy. At most 128, since pieces are combined one after the
/// other.
inline std::int64_t pieces_of(std::int64_t terms, std::int64_t tasks, std::int64_t width) {
  if (tasks >= 16 || terms * width < 2 * kReduceGrain) return 1;
  return std::min({(terms * width + kReduceGrain - 1) / kReduceGrain, terms, std::int64_t{128}});
}

template <class R, class Write>
void reduce_runs(const ReducePlan& plan,
                 const typename R::Value* x,
                 const typename R::State* param,
                 const Write& write) {
  const std::int64_t outputs = plan.kept.count, terms = plan.reduced.count;
  const auto parameter = [&](std::int64_t y) { return param ? param[y] : R::kZero; };
  const std::int64_t pieces = pieces_of(terms, outputs, 1);
  if (pieces == 1) {
    parallel_for(outputs, std::max<std::int64_t>(1, kReduceGrain / terms), [&](std::int64_t begin, std::int64_t end) {
      Walk w(plan.kept, plan.kept.rank, begin);
      for (std::int64_t i = begin; i < end; ++i, w.next())
        write(w.y, run_range<R>(plan.reduced, x + w.x, 0, terms, parameter(w.y)));
    });
    return;
  }
  const std::int64_t length = (terms + pieces - 1) / pieces;
  std::vector<typename R::State> part(static_cast<std::size_t>(outputs * pieces));
  parallel_for(outputs * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const Walk w(plan.kept, plan.kept.rank, t / pieces);
      const std::int64_t from = std::min(t % pieces * length, terms), to = std::min(from + length, terms);
      part[static_cast<std::size_t>(t)] =
          from < to ? run_range<R>(plan.reduced, x + w.x, from, to, parameter(w.y)) : R::kZero;
    }
  });
  Walk w(plan.kept, plan.kept.rank, 0);
  for (std::int64_t i = 0; i < outputs; ++i, w.next()) {
    typename R::State s = R::kZero;
    for (std::int64_t k = 0; k < pieces; ++k) s = join<R>(s, part[static_cast<std::size_t>(i * pieces + k)]);
    write(w.y, s);
  }
}

template <class R, class Write>
void reduce_columns(const ReducePlan& plan,
                    const typename R::Value* x,
                    const typename R::State* param,
                    const Write& write) {
  const auto& col = plan.kept.inner();
  const std::int64_t terms = plan.reduced.count, outer = plan.kept.count / col.size;
  const std::int64_t tiles = (col.size + kTile - 1) / kTile, tasks = outer * tiles, width = std::min(col.size, kTile);
  const std::int64_t pieces = pieces_of(terms, tasks, width), length = (terms + pieces - 1) / pieces;
  const bool narrow = col.x == 1 && plan.reduced.rank == 1 && plan.reduced.inner().x == col.size &&
                      2 * col.size <= kTile && terms >= 4 * (kTile / col.size);
  // Rows [from, to) of one tile, into acc.
  const auto partial = [&](std::int64_t task, std::int64_t from, std::int64_t to, typename R::State* acc) {
    const Walk w(plan.kept, plan.kept.rank - 1, task / tiles);
    const std::int64_t first = task % tiles * kTile, n = std::min(kTile, col.size - first);
    typename R::State p[kTile];
    for (std::int64_t j = 0; j < n; ++j) p[j] = param ? param[w.y + (first + j) * col.y] : R::kZero;
    if (narrow)
      narrow_range<R>(x + w.x, from, to, n, p, acc);
    else
      column_range<R>(plan.reduced, x + w.x + first * col.x, from, to, n, col.x, p, acc);
  };
  const auto store = [&](std::int64_t task, const typename R::State* acc) {
    const Walk w(plan.kept, plan.kept.rank - 1, task / tiles);
    const std::int64_t first = task % tiles * kTile, n = std::min(kTile, col.size - first);
    for (std::int64_t j = 0; j < n; ++j) write(w.y + (first + j) * col.y, acc[j]);
  };
  if (pieces == 1) {
    parallel_for(tasks, std::max<std::int64_t>(1, kReduceGrain / (terms * width)),
                 [&](std::int64_t begin, std::int64_t end) {
                   typename R::State acc[kTile];
                   for (std::int64_t t = begin; t < end; ++t) {
                     partial(t, 0, terms, acc);
                     store(t, acc);
                   }
                 });
    return;
  }
  std::vector<typename R::State> part(static_cast<std::size_t>(tasks * pieces * kTile));
  parallel_for(tasks * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t from = std::min(t % pieces * length, terms);
      partial(t / pieces, from, std::min(from + length, terms), part.data() + t * kTile);
    }
  });
  for (std::int64_t t = 0; t < tasks; ++t) {
    typename R::State* acc = part.data() + t * pieces * kTile;
    for (std::int64_t k = 1; k < pieces; ++k) join_rows<R>(acc + k * kTile, width, acc);
    store(t, acc);
  }
}

/// Calls write(i, state) for each element i of the output. `param` holds one number for each
/// output, or is null.
template <class R, class Write>
void reduce(const View& x, unsigned dims, const typename R::State* param, const Write& write) {
  const auto* data = x.as<typename R::Value>();
  if (x.contiguous() && x.numel <= kReduceGrain && dims + 1 == 1u << x.rank()) {  // everything: needs no plan
    write(0, run<R>(data, x.numel, 1, param ? *param : R::kZero));
    return;
  }
  const ReducePlan plan = make_reduce_plan(x, dims);
  if (plan.reduced.count == 0) {
    for (std::int64_t i = 0; i < plan.kept.count; ++i) write(i, R::kZero);
  } else if (plan.kept.count > 0) {
    if (plan.columns)
      reduce_columns<R>(plan, data, param, write);
    else
      reduce_runs<R>(plan, data, param, write);
  }
}

/// Sums of T: integers wrap around in 64 bits, which is what i64 stores.
template <class T>
using SumState = std::conditional_t<std::is_integral_v<T>, std::uint64_t, Acc<T>>;
template <class T>
SumState<T> to_state(T v) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
  else
    return convert<Acc<T>>(v);
}

template <class T, bool Largest>
struct ExtremeOf {
  using Value = T;
  using State = OrderKey<T>;
  static constexpr bool kMax = true;
  static constexpr State kZero = std::numeric_limits<State>::min();
  static State term(T v, State) { return Largest ? order_key(v) : reverse_key(v); }
};

}  // namespace reel::kernels
