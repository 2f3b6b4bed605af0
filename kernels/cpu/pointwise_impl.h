#pragma once
// How the pointwise kernels run: a function is compiled for dense rows of float and of double alone.
// Rows of a half type, or with steps, go through blocks on the stack that fit the first-level cache;
// reading and writing those is compiled once, not for each function.
#include "reel/kernels/cpu/nd_loop_impl.h"
#include "reel/kernels/math/functions.h"
#include "reel/kernels/pointwise.h"

namespace reel::kernels {

inline constexpr std::int64_t kBlock = 512;  // elements

/// A run of elements of one operand.
struct Run {
  std::byte* data;
  DType dtype;
  std::int64_t step;  // in elements
};
inline Run run_of(const View& v, std::int64_t at, std::int64_t step) {
  return {v.data + at * static_cast<std::int64_t>(size_of(v.dtype)), v.dtype, step};
}

/// Elements first ... first + n of a run, as C: in place where they lie densely as C, else in `buffer`.
template <class C>
const C* fetch(const Run& r, std::int64_t first, std::int64_t n, C* buffer);
/// Where to compute elements first ... of a run; `store` then writes them unless they are there already.
template <class C>
C* target(const Run& r, std::int64_t first, C* buffer) {
  return r.dtype == dtype_of<C>() && r.step == 1 ? reinterpret_cast<C*>(r.data) + first : buffer;
}
template <class C>
void store(const Run& r, std::int64_t first, std::int64_t n, const C* values);

/// Computes out from the inputs, all of one floating dtype, by dense(out, in..., n) with pointers to
/// float or double. The loop inside `dense` must be a function of its own with plain pointers, which is
/// the form that compilers vectorise; `omp simd` is legal there also where the output is an input.
template <class C, class Out, std::size_t N, class Dense>
void run_blocks(const Run& out, const std::array<Run, N>& in, std::int64_t n, const Dense& dense) {
  bool direct = out.dtype == dtype_of<Out>() && out.step == 1;
  for (const Run& r : in) direct = direct && r.dtype == dtype_of<C>() && r.step == 1;
  std::array<const C*, N> p;
  if (direct) {
    for (std::size_t k = 0; k < N; ++k) p[k] = reinterpret_cast<const C*>(in[k].data);
    dense(reinterpret_cast<Out*>(out.data), p, n);
    return;
  }
  C buffer[N][kBlock];
  Out result[kBlock];
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t m = std::min(kBlock, n - first);
    for (std::size_t k = 0; k < N; ++k) p[k] = fetch(in[k], first, m, buffer[k]);
    Out* const y = target(out, first, result);
    dense(y, p, m);
    if (y == result) store(out, first, m, result);
  }
}

/// The same over whole tensors: out and its inputs broadcast to it.
template <class C, class Out, class Dense, class... In>
void pointwise(const View& out, const Dense& dense, const In&... in) {
  constexpr int n_in = sizeof...(In);
  const auto plain = [&](const View& v, DType dtype) {
    return v.layout == Layout::row_major && v.dtype == dtype && v.shape == out.shape;
  };
  if (out.numel <= kPointwiseGrain && plain(out, dtype_of<Out>()) && (plain(in, dtype_of<C>()) && ...)) {
    // A few dense numbers: nothing to walk.
    dense(reinterpret_cast<Out*>(out.data), std::array<const C*, n_in>{reinterpret_cast<const C*>(in.data)...},
          out.numel);
    return;
  }
  const std::array<const View*, n_in + 1> all{&out, &in...};
  nd_loop<n_in + 1>(all, [&](const auto& at, const auto& step, std::int64_t n) {
    std::array<Run, n_in> runs;
    for (std::size_t k = 0; k < n_in; ++k) runs[k] = run_of(*all[k + 1], at[k + 1], step[k + 1]);
    run_blocks<C, Out>(run_of(out, at[0], step[0]), runs, n, dense);
  });
}

/// Calls fn with the type in which a pointwise function of this floating dtype is computed.
template <class Fn>
void visit_computing(DType dtype, const Fn& fn) {
  if (dtype == DType::f64)
    fn.template operator()<double>();
  else
    fn.template operator()<float>();
}

}  // namespace reel::kernels
