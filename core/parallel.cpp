#include "reel/core/parallel.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __linux__
#include <sched.h>
#endif

#include "reel/core/error.h"

namespace reel {
namespace {

int usable_cores() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

struct Runner {
  ParallelRunner run = nullptr;
  void* user = nullptr;
};
std::mutex g_mutex;
Runner g_runner;
std::atomic<bool> g_replaced{false};
std::atomic<int> g_threads{0};
thread_local bool t_inside = false;

/// What every chunk passes through: keeps the first exception, marks the thread as inside.
struct Guarded {
  void (*body)(void*, std::int64_t);
  void* context;
  std::mutex mutex{};
  std::exception_ptr error{};

  static void call(void* self, std::int64_t chunk) {
    auto& g = *static_cast<Guarded*>(self);
    const bool was = std::exchange(t_inside, true);
    try {
      g.body(g.context, chunk);
    } catch (...) {
      const std::lock_guard lock(g.mutex);
      if (!g.error) g.error = std::current_exception();
    }
    t_inside = was;
  }
};

void run_default(std::int64_t chunks, Guarded& g) {
#ifdef _OPENMP
  const int threads = static_cast<int>(std::min<std::int64_t>(num_threads(), chunks));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::int64_t c = 0; c < chunks; ++c) Guarded::call(&g, c);
#else
  for (std::int64_t c = 0; c < chunks; ++c) Guarded::call(&g, c);
#endif
}

}  // namespace

void set_parallel_runner(ParallelRunner runner, void* user) {
  const std::lock_guard lock(g_mutex);
  g_runner = {runner, user};
  g_replaced = runner != nullptr;
}

void set_num_threads(int n) {
  check<ValueError>(n >= 1, "set_num_threads: needs at least 1 thread, but got ", n);
  g_threads = n;
}
int num_threads() {
  int n = g_threads.load(std::memory_order_relaxed);
  if (n == 0) g_threads = n = usable_cores();
  return n;
}

void detail::run_chunks(std::int64_t chunks, void (*body)(void*, std::int64_t), void* context) {
  const bool replaced = g_replaced.load(std::memory_order_acquire);
  if (t_inside || chunks == 1 || (!replaced && num_threads() == 1)) {
    for (std::int64_t c = 0; c < chunks; ++c) body(context, c);
    return;
  }
  Guarded g{body, context};
  if (replaced) {
    Runner r;
    {
      const std::lock_guard lock(g_mutex);
      r = g_runner;
    }
    if (r.run)
      r.run(r.user, chunks, &Guarded::call, &g);
    else
      run_default(chunks, g);
  } else {
    run_default(chunks, g);
  }
  if (g.error) std::rethrow_exception(g.error);
}

}  // namespace reel
