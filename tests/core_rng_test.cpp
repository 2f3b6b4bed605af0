#include "reel/core/rng.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "reel/core/parallel.h"
#include "reel/core/philox.h"
#include "reel/tests/support/catch.h"

using namespace reel;

TEST_CASE("Philox 4x32-10 gives the published known answers", "[rng]") {
  // Random123, kat_vectors
  CHECK(philox({0, 0, 0, 0}, 0, 0) == Philox4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t f = 0xffffffff;
  CHECK(philox({f, f, f, f}, f, f) == Philox4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0) ==
        Philox4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("the numbers do not depend on threads or on how they are drawn", "[rng]") {
  set_num_threads(1);
  Generator a(7), b(7);
  const auto one = normal({100'003}, a).to_vector();
  set_num_threads(2);
  CHECK(normal({100'003}, b).to_vector() == one);
  CHECK(a.position() == b.position());
  Generator c(7);
  uniform({4}, c);
  const Generator saved = c;
  const auto x = uniform({9}, c).to_vector();
  Generator again = saved;
  CHECK(uniform({9}, again).to_vector() == x);
  CHECK(uniform({9}, again).to_vector() != x);
}

TEST_CASE("uniform and normal have the right moments", "[rng]") {
  Generator g(3);
  const int n = 1'000'000;
  double s = 0, q = 0, low = 1, high = 0;
  for (const float v : uniform({n}, g).to_vector()) {
    s += v;
    low = std::min<double>(low, v);
    high = std::max<double>(high, v);
  }
  CHECK(std::fabs(s / n - 0.5) < 5 * std::sqrt(1.0 / 12 / n));  // five standard errors
  CHECK((low >= 0 && high < 1));
  s = 0;
  double fourth = 0, extreme = 0;
  for (const float v : normal({n}, g).to_vector()) {
    s += v;
    q += double{v} * v;
    fourth += std::pow(double{v}, 4);
    extreme = std::max<double>(extreme, std::fabs(v));
  }
  CHECK(std::fabs(s / n) < 5 / std::sqrt(n));
  CHECK(std::fabs(q / n - 1) < 5 * std::sqrt(2.0 / n));
  CHECK(std::fabs(fourth / n - 3) < 5 * std::sqrt(96.0 / n));
  CHECK((extreme > 4.2 && extreme < 5.8));
}

TEST_CASE("normal agrees with Box and Muller by the C library", "[rng]") {
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    const Philox4 r = philox_block(11, i);
    const auto got = to_normal(r[0], r[1]);
    const double u = ((r[0] >> 8) + 1.0) * 0x1p-24, t = 2 * M_PI * (r[1] >> 8) * 0x1p-24,
                 radius = std::sqrt(-2 * std::log(u));
    const double bound = 8 * 0x1p-24 * (radius + 1);  // a few roundings, relative to the radius
    if (std::fabs(got[0] - radius * std::cos(t)) > bound || std::fabs(got[1] - radius * std::sin(t)) > bound) FAIL(i);
  }
  SUCCEED();
}

TEST_CASE("integers and permutations", "[rng]") {
  Generator g(5);
  const auto v = random_integers({6000}, g, -2, 4).to_vector<std::int64_t>();
  for (std::int64_t k = -2; k < 4; ++k) CHECK(std::abs(std::count(v.begin(), v.end(), k) - 1000) < 150);
  CHECK(std::ranges::all_of(v, [](std::int64_t x) { return x >= -2 && x < 4; }));
  CHECK_THROWS_AS(random_integers({1}, g, 3, 3), ValueError);
  auto p = random_permutation(1000, g);
  CHECK_FALSE(std::ranges::is_sorted(p));
  std::ranges::sort(p);
  for (std::int64_t i = 0; i < 1000; ++i) CHECK(p[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("parallel_for: every index once, exceptions come back, nesting and own runners work", "[parallel]") {
  set_num_threads(2);
  std::vector<int> hits(1000, 0);
  parallel_for(1000, 7, [&](std::int64_t b, std::int64_t e) {
    for (; b < e; ++b) ++hits[static_cast<std::size_t>(b)];
  });
  CHECK(hits == std::vector<int>(1000, 1));
  CHECK_THROWS_WITH(parallel_for(100, 1, [](std::int64_t b, std::int64_t) { check<ValueError>(b != 50, "chunk 50"); }),
                    "chunk 50");
  std::atomic<int> inner{0};
  parallel_for(8, 1,
               [&](std::int64_t, std::int64_t) { parallel_for(8, 1, [&](std::int64_t, std::int64_t) { ++inner; }); });
  CHECK(inner == 64);
  CHECK_THROWS_AS(set_num_threads(0), ValueError);

  int calls = 0;
  set_parallel_runner(
      [](void* user, std::int64_t chunks, void (*body)(void*, std::int64_t), void* context) {
        ++*static_cast<int*>(user);
        std::vector<std::thread> pool;
        for (std::int64_t c = 0; c < chunks; ++c) pool.emplace_back(body, context, c);
        for (auto& t : pool) t.join();
      },
      &calls);
  std::fill(hits.begin(), hits.end(), 0);
  parallel_for(1000, 250, [&](std::int64_t b, std::int64_t e) {
    for (; b < e; ++b) ++hits[static_cast<std::size_t>(b)];
  });
  set_parallel_runner(nullptr);
  CHECK(calls == 1);
  CHECK(hits == std::vector<int>(1000, 1));
}
