#pragma once
// The one way in which the library uses several cores. A range is cut into chunks whose borders do
// not depend on the number of threads, so that results do not either.
#include <algorithm>
#include <cstdint>

namespace reel {

/// Runs body(context, 0) ... body(context, chunks - 1), each once, in any order, on any threads, and
/// returns when all are done. `body` never throws.
using ParallelRunner = void (*)(void* user,
                                std::int64_t chunks,
                                void (*body)(void* context, std::int64_t chunk),
                                void* context);

/// Makes the library run its chunks on the caller's own thread pool; null restores the default
/// (OpenMP where the library was built with it, else the calling thread alone).
void set_parallel_runner(ParallelRunner runner, void* user = nullptr);

/// Threads used by the default runner; at first the number of cores the process may use.
/// Throws ValueError for less than 1.
void set_num_threads(int n);
int num_threads();

namespace detail {
/// As ParallelRunner; an exception of `body` is caught and thrown again here.
void run_chunks(std::int64_t chunks, void (*body)(void* context, std::int64_t chunk), void* context);
}  // namespace detail

/// Calls fn(begin, end) for consecutive pieces of [0, n) of `grain` elements each (the last may be
/// shorter). One piece, or a call from inside another parallel_for, runs on the calling thread.
template <class Fn>
void parallel_for(std::int64_t n, std::int64_t grain, const Fn& fn) {
  if (n <= grain) {
    if (n > 0) fn(std::int64_t{0}, n);
    return;
  }
  struct Context {
    const Fn& fn;
    std::int64_t n, grain;
  } context{fn, n, grain};
  detail::run_chunks((n + grain - 1) / grain,
                     [](void* c, std::int64_t chunk) {
                       const auto& x = *static_cast<const Context*>(c);
                       const std::int64_t begin = chunk * x.grain;
                       x.fn(begin, std::min(begin + x.grain, x.n));
                     },
                     &context);
}

}  // namespace reel
