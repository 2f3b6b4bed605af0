#include "reel/optim/ema.h"

#include "reel/optim/sgd.h"
#include "reel/tests/optim_support.h"

using namespace reel;
using namespace reel::optim;
using namespace reel::test;
using Catch::Matchers::Equals;

TEST_CASE("the average follows its formula, in applied steps only", "[optim]") {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16}) {
    const Parameter p = weight("w", {1, 2}, dtype);
    SGD optimizer({p}, {.lr = 1});
    Ema ema({p}, {.decay = 0.75});
    micro_step(optimizer, p.tensor, {1, 1});
    ema.update(optimizer.step());  // weights 0, 1
    micro_step(optimizer, p.tensor, {std::numeric_limits<double>::infinity(), 1});
    ema.update(optimizer.step());  // skipped
    ema.update(Step::empty);
    CHECK(ema.updates() == 1);
    CHECK(values_of(ema.state().at("ema.w")) == Values{0.75, 1.75});
    micro_step(optimizer, p.tensor, {-1, -1});
    ema.update(optimizer.step());  // weights 1, 2
    CHECK(values_of(ema.state().at("ema.w")) == Values{0.8125, 1.8125});
    CHECK(ema.state().at("ema.w").dtype() == (dtype == DType::f64 ? DType::f64 : DType::f32));
  }
}

TEST_CASE("warm-up forgets early weights soon", "[optim]") {
  const Parameter p = weight("w", {0}, DType::f64);
  Ema ema({p}, {.decay = 0.15, .warmup = true});
  p.tensor.data<double>()[0] = 1;
  ema.update(Step::applied);  // decay 1/10
  CHECK(ema.state().at("ema.w").item() == Approx(0.9).epsilon(1e-15));
  ema.update(Step::applied);  // decay 0.15, below 2/11
  CHECK(ema.state().at("ema.w").item() == Approx(0.985).epsilon(1e-15));
}

TEST_CASE("the averages stand in for the weights until the brace closes", "[optim]") {
  const Parameter p = weight("w", {1, 3}, DType::f16), q = weight("v", {5});
  Ema ema({p, q}, {.decay = 0.5});
  p.tensor.data<Half>()[0] = Half(2.0f);
  ema.update(Step::applied);
  const std::uint32_t version = p.tensor.version();
  {
    const Ema::Evaluation averages(ema);
    CHECK(values_of(p.tensor) == Values{1.5, 3});
    CHECK(p.tensor.version() > version);  // tapes notice
    CHECK_THROWS_WITH(ema.update(Step::applied),
                      Equals("Ema: update: the averages stand in for the weights. End the Evaluation first"));
    CHECK_THROWS_AS(Ema::Evaluation(ema), StateError);
  }
  CHECK(values_of(p.tensor) == Values{2, 3});
  CHECK(q.tensor.item() == 5);
  ema.update(Step::applied);
  CHECK(values_of(ema.state().at("ema.w")) == Values{1.75, 3});
}

TEST_CASE("a round of evaluation costs a half parameter no bit of its master", "[optim]") {
  const Parameter p = weight("w", {1}, DType::f16);
  SGD optimizer({p}, {.lr = 0x1p-14});
  Ema ema({p});
  for (int k = 0; k < 8; ++k) {
    optimizer.next().add(Tensor::scalar(0), 1);
    p.tensor.set_grad(tensor({1}));
    ema.update(optimizer.step());
    const Ema::Evaluation averages(ema);
  }
  CHECK(optimizer.state().at("master.w").item() == 1 - 0x1p-11);
}

TEST_CASE("the state of an average is restored exactly", "[optim]") {
  const Parameter p = weight("w", {1, 2}), q = weight("w", {7, 8});
  Ema a({p}), b({q});
  p.tensor.data<float>()[0] = 0.1f;
  a.update(Step::applied);
  b.load_state(a.state());
  CHECK(same_bits(a.state(), b.state()));
  CHECK(b.updates() == 1);
  const State before = copy_of(b.state());
  p.tensor.data<float>()[0] = 9;
  a.update(Step::applied);
  CHECK(same_bits(b.state(), before));
  State bad = copy_of(before);
  bad["ema.w"] = Tensor::zeros({3});
  CHECK_THROWS_WITH(b.load_state(bad),
                    Equals("Ema: load_state: needs ema.w [2] f32, but the state has another shape or "
                           "dtype. Nothing was loaded"));
  bad.erase("ema.w");
  bad["ema.v"] = Tensor::zeros({2});
  CHECK_THROWS_WITH(b.load_state(bad),
                    Equals("Ema: load_state: needs ema.w [2] f32, but the state has none. Nothing was loaded"));
  CHECK_THROWS_AS(b.load_state({}), ValueError);
  CHECK(same_bits(b.state(), before));
  CHECK_THROWS_WITH(Ema({p}, {.decay = 1}), Equals("Ema: decay must be from 0 to below 1, but is 1"));
  CHECK_THROWS_AS(Ema({}), ValueError);
}
