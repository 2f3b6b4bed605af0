#include "reel/optim/schedule.h"

#include <cmath>

#include "reel/optim/sgd.h"
#include "reel/tests/optim_support.h"

using namespace reel;
using namespace reel::optim;
using namespace reel::test;
using Catch::Matchers::Equals;

namespace {

Values first(const Schedule& s, int n) {
  Values v;
  for (int k = 0; k < n; ++k) v.push_back(s(k));
  return v;
}

}  // namespace

TEST_CASE("schedules follow their closed forms", "[optim]") {
  CHECK(first(constant(0.5), 2) == Values{0.5, 0.5});
  CHECK(first(linear_warmup(4), 6) == Values{0, 0.25, 0.5, 0.75, 1, 1});
  CHECK(first(linear_warmup(2, 0.5), 4) == Values{0.5, 0.75, 1, 1});
  CHECK(first(step_decay(2, 0.5), 6) == Values{1, 1, 0.5, 0.5, 0.25, 0.25});
  const auto middle = cosine(8, 0.1)(4);
  CHECK(middle == Approx(0.55).epsilon(1e-15));
  CHECK(cosine(8)(0) == 1);
  CHECK(cosine(8)(8) == 0);
  CHECK(cosine(8, 0.1)(100) == 0.1);
}

TEST_CASE("cosine, one-cycle and plateau follow torch", "[optim]") {
  check_close(first(cosine(8, 0.1), 9),
              {1.0, 0.9657457896300791, 0.8681980515339464, 0.7222075445642905, 0.55, 0.3777924554357097,
               0.2318019484660537, 0.134254210369921, 0.1},
              DType::f64, 8);
  const Schedule cycle = one_cycle(10);
  check_close(first(cycle, 10),
              {0.040000000000000036, 0.52, 1.0, 0.9504846320134737, 0.8117456539497631, 0.6112620219362893,
               0.38874197806371075, 0.18825834605023697, 0.049519367986526286, 4e-06},
              DType::f64, 8);
  CHECK(cycle(1000) == cycle(9));
  CHECK(one_cycle(1)(0) == 1);

  const Plateau plateau({.factor = 0.5, .patience = 2});
  Values got;
  for (const double m : {1.0, 0.9, 0.9, 0.9, 0.9, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8}) {
    plateau.report(m);
    got.push_back(plateau(0));
  }
  CHECK(got == Values{1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125});
}

TEST_CASE("a plateau bears NaN, cools down and keeps a floor", "[optim]") {
  const Plateau p({.factor = 0.5, .patience = 0, .cooldown = 1, .floor = 0.3});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Values got;
  for (const double m : {1.0, nan, 1.0, 1.0, 1.0, 1.0}) {
    p.report(m);
    got.push_back(p(0));
  }
  CHECK(got == Values{1, 0.5, 0.5, 0.3, 0.3, 0.3});
}

TEST_CASE("a plateau is shared by its copies, saved and restored", "[optim]") {
  const PlateauOptions options{.factor = 0.5, .patience = 1};
  const Plateau a(options), b(options);
  const Schedule schedule = a;
  for (const double m : {1.0, 1.0}) a.report(m);
  b.load_state(copy_of(a.state()));
  CHECK(same_bits(a.state(), b.state()));
  a.report(1.0);
  b.report(1.0);
  CHECK(schedule(0) == 0.5);
  CHECK(b(0) == 0.5);
  CHECK_THROWS_WITH(b.load_state({}), Equals("Plateau: load_state: needs one entry, plateau [4] f64"));
}

TEST_CASE("schedules compose", "[optim]") {
  CHECK(first(product(linear_warmup(2), step_decay(3, 0.5)), 5) == Values{0, 0.5, 1, 0.5, 0.5});
  CHECK(first(sequence(linear_warmup(2), 2, step_decay(1, 0.5)), 5) == Values{0, 0.5, 1, 0.5, 0.25});
}

TEST_CASE("the rate is the base rate times the schedule of the applied updates", "[optim]") {
  const Parameter p = weight("w", {0});
  SGD optimizer({p}, {.lr = 2});
  optimizer.set_schedule(step_decay(1, 0.5));
  for (const double rate : {2.0, 1.0, 0.5}) {
    CHECK(optimizer.lr() == rate);
    micro_step(optimizer, p.tensor, {1});
    const double before = p.tensor.item();
    CHECK(optimizer.step() == Step::applied);
    CHECK(before - p.tensor.item() == rate);
  }
  optimizer.set_lr(16);
  CHECK(optimizer.lr() == 2);
  CHECK_THROWS_WITH(optimizer.set_lr(-1), Equals("SGD: lr must be not negative, but is -1"));
}

TEST_CASE("options of schedules are named with their value", "[optim]") {
  CHECK_THROWS_WITH(linear_warmup(0), Equals("linear_warmup: steps must be at least 1, but is 0"));
  CHECK_THROWS_WITH(cosine(10, -1), Equals("cosine: floor must be not negative, but is -1"));
  CHECK_THROWS_WITH(step_decay(0), Equals("step_decay: every must be at least 1, but is 0"));
  CHECK_THROWS_WITH(one_cycle(10, {.warmup = 1}), Equals("one_cycle: warmup must be between 0 and 1, but is 1"));
  CHECK_THROWS_WITH(Plateau({.factor = 1}), Equals("Plateau: factor must be between 0 and 1, but is 1"));
  CHECK_THROWS_WITH(constant(-2), Equals("constant: factor must be not negative, but is -2"));
}
