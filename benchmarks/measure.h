#pragma once
// Times small pieces of work: a sample is as many calls as fill a millisecond, the result is the median
// of many samples. Several variants are measured in turn, round by round, so that a slow moment of the
// machine hits them alike.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace reel::bench {

struct Case {
  std::string name;
  std::function<void()> run;
  double per = 1;  ///< operations in one call
};

struct Result {
  std::string name;
  double minimum = 0, median = 0, p90 = 0;  ///< seconds for one operation
  std::size_t samples = 0;
};

inline double seconds(const std::function<void()>& run, std::int64_t calls) {
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < calls; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Measures the cases in turn for `rounds` rounds of about `budget` seconds a case.
inline std::vector<Result> measure(const std::vector<Case>& cases, int rounds = 5, double budget = 0.2) {
  constexpr double kSample = 1e-3;
  std::vector<std::int64_t> calls;
  for (const Case& c : cases) {
    c.run();  // warms caches and pools
    const double once = std::max(seconds(c.run, 1), 1e-9);
    calls.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(kSample / once)));
  }
  std::vector<std::vector<double>> samples(cases.size());
  for (int r = 0; r < rounds; ++r) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      double spent = 0;
      do {
        const double t = seconds(cases[i].run, calls[i]);
        spent += t;
        samples[i].push_back(t / static_cast<double>(calls[i]) / cases[i].per);
      } while (spent < budget);
    }
  }
  std::vector<Result> results;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    auto& s = samples[i];
    std::sort(s.begin(), s.end());
    results.push_back({cases[i].name, s[0], s[s.size() / 2], s[s.size() * 9 / 10], s.size()});
  }
  return results;
}

}  // namespace reel::bench
