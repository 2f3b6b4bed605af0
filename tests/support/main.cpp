// The main function of every test program, for version 2 and 3 of the test framework.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Listener = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
using Listener = Catch::TestEventListenerBase;
#endif
#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

#include "reel/core/parallel.h"
#include "reel/tests/support/skip.h"

namespace reel::test {
namespace {

bool ran = false;
int skipped_cases = 0;
std::string current_case;
Catch::Counts totals;

struct Count : Listener {
  using Listener::Listener;
  void testCaseStarting(const Catch::TestCaseInfo& info) override { current_case = info.name; }
  void testRunEnded(const Catch::TestRunStats& stats) override {
    ran = true;
    totals = stats.totals.testCases;
  }
};
CATCH_REGISTER_LISTENER(Count)

#ifdef __SANITIZE_THREAD__
/// Chunks on threads that the sanitizer understands, unlike OpenMP's.
void run_on_threads(void*, std::int64_t chunks, void (*body)(void*, std::int64_t), void* context) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (std::int64_t i = next++; i < chunks; i = next++) body(context, i);
  };
  std::vector<std::thread> others;
  for (int t = 1; t < num_threads(); ++t) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
}
#endif

}  // namespace

void skip(const std::string& reason) {
  ++skipped_cases;
  std::cout << "skipped: " << current_case << ": " << reason << std::endl;
}

}  // namespace reel::test

int main(int argc, char** argv) {
  using namespace reel::test;
#ifdef __SANITIZE_THREAD__
  reel::set_parallel_runner(run_on_threads);
#endif
  const int rc = Catch::Session().run(argc, argv);
  if (!ran) return rc;  // asked for a list or for help
  const auto failed = static_cast<int>(totals.failed);
  const int passed = static_cast<int>(totals.total()) - failed - skipped_cases;
  // scripts/test adds these lines up.
  std::cout << "cases: " << passed << " passed, " << failed << " failed, " << skipped_cases << " skipped" << std::endl;
  if (rc) return rc;
  if (totals.total() == 0) return 1;  // a filter that fits nothing
  constexpr int kAllSkipped = 77;
  return passed == 0 ? kAllSkipped : 0;
}
