// The formulas: traces of torch 1.13, dtypes, layouts, and independence of the number of threads.
#include "reel/core/parallel.h"
#include "reel/core/rng.h"
#include "reel/optim/adam.h"
#include "reel/optim/sgd.h"
#include "reel/tests/optim_support.h"

using namespace reel;
using namespace reel::optim;
using namespace reel::test;

namespace {

const Values kStart{0.5, -1.25, 2.0};
const std::vector<Values> kGradients{{0.1, -0.2, 0.3}, {-0.4, 0.05, 0.6}, {0.7, 0.8, -0.9}, {0.0, -1.0, 0.25}};

/// Four updates of three numbers, held against torch's. 64 roundings bound four steps of about ten
/// each, and the rounding of start and gradients to the dtype.
template <class O, class Options>
void check_trace(const Options& options, const std::vector<Values>& want) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Parameter p = weight("w", kStart, dtype);
    O optimizer({p}, options);
    for (std::size_t k = 0; k < want.size(); ++k) {
      INFO("update " << k << " in " << name_of(dtype));
      micro_step(optimizer, p.tensor, kGradients[k]);
      REQUIRE(optimizer.step() == Step::applied);
      check_close(values_of(p.tensor), want[k], dtype, 64);
    }
  }
}

}  // namespace

TEST_CASE("SGD follows torch.optim.SGD", "[optim]") {
  check_trace<SGD>(SGDOptions{.lr = 0.1},
                   {{0.49, -1.23, 1.97}, {0.53, -1.235, 1.91}, {0.46, -1.315, 2.0}, {0.46, -1.215, 1.975}});
  check_trace<SGD>(
      SGDOptions{.lr = 0.1, .momentum = 0.9},
      {{0.49, -1.23, 1.97}, {0.521, -1.217, 1.883}, {0.4789, -1.2853, 1.8947}, {0.44101, -1.24677, 1.88023}});
  check_trace<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.01},
                   {{0.4895, -1.22875, 1.968},
                    {0.50770735, -1.212264875, 1.8958223999999999},
                    {0.47473856985500001, -1.2525796770875, 1.89253548432},
                    {0.44473435072560152, -1.2179861931922886, 1.8707524853689759}});
  check_trace<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01},
                   {{0.48005, -1.209625, 1.9392},
                    {0.54663290499999995, -1.1996142125, 1.79559552},
                    {0.43695096198049993, -1.3369138992462499, 1.889685136512},
                    {0.40089897604968699, -1.197023133700557, 1.8438914255814272}});
}

TEST_CASE("Adam follows torch.optim.Adam", "[optim]") {
  check_trace<Adam>(AdamOptions{.lr = 0.1}, {{0.40000000999999902, -1.1500000049999999, 1.9000000033333333},
                                             {0.45595035748512841, -1.1030531911004471, 1.8034818027856336},
                                             {0.4228415530469759, -1.1558697079860296, 1.810141704240801},
                                             {0.39572083514884232, -1.1386036865006233, 1.8028246141386044}});
  check_trace<Adam>(AdamOptions{.lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.1},
                    {{0.45033112582781454, -1.2001533742331287, 1.9500998003992016},
                     {0.47398653594814327, -1.1608634703182674, 1.9004644079348447},
                     {0.45086907363046225, -1.180107687417139, 1.8930913635048221},
                     {0.43121812801980214, -1.16106074119998, 1.8759227940912817}});
}

TEST_CASE("AdamW follows torch.optim.AdamW", "[optim]") {
  check_trace<AdamW>(AdamWOptions{.lr = 0.1}, {{0.39950000999999902, -1.1487500049999997, 1.8980000033333333},
                                               {0.45505085747512841, -1.1006544410954469, 1.7995838027823003},
                                               {0.4214870021795008, -1.152370303539934, 1.8044441204346855},
                                               {0.39394479727918774, -1.1339519117509878, 1.7953225862120541}});
  check_trace<AdamW>(AdamWOptions{.lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.2},
                     {{0.4454950495049505, -1.1877487562189055, 1.9301661129568106},
                      {0.47108767048616956, -1.1548152204902877, 1.862149466574067},
                      {0.44737174364583843, -1.1731220282164836, 1.8506228786030292},
                      {0.42819917985902806, -1.1504580420984838, 1.8301348543093912}});
}

TEST_CASE("half parameters keep f32 master numbers", "[optim]") {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    // One update of 2^-13 is lost beside 1 in both half types; 2^5 of them are not.
    const Parameter p = weight("w", {1.0}, dtype);
    SGD optimizer({p}, {.lr = 0x1p-13});
    for (int k = 0; k < 32; ++k) {
      optimizer.next().add(Tensor::scalar(0), 1);
      p.tensor.set_grad(tensor({1.0}));
      CHECK(optimizer.step() == Step::applied);
    }
    CHECK(p.tensor.item() == 1 - 0x1p-8);
    CHECK(optimizer.state().at("master.w").item() == 1 - 0x1p-8);
    CHECK(optimizer.state().at("master.w").dtype() == DType::f32);
  }
}

TEST_CASE("a half parameter that somebody writes to wins over its master", "[optim]") {
  const Parameter p = weight("w", {1.0, 1.0}, DType::f16);
  SGD optimizer({p}, {.lr = 0x1p-13});
  const auto update = [&] {
    optimizer.next().add(Tensor::scalar(0), 1);
    p.tensor.set_grad(tensor({1.0, 1.0}));
    CHECK(optimizer.step() == Step::applied);
  };
  update();
  p.tensor.data<Half>()[1] = Half(4.0f);
  p.tensor.bump_version();
  update();
  CHECK(values_of(optimizer.state().at("master.w")) == Values{1 - 0x1p-12, 4 - 0x1p-13});
}

TEST_CASE("a gradient of zeros does not move a half parameter", "[optim]") {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Parameter p = weight("w", {0.5, -3.0}, dtype);
    AdamW optimizer({p}, {.weight_decay = 0});
    optimizer.next().add(Tensor::scalar(0), 1);
    p.tensor.set_grad(Tensor::zeros({2}));
    CHECK(optimizer.step() == Step::applied);
    CHECK(values_of(p.tensor) == Values{0.5, -3.0});
  }
}

TEST_CASE("gradients of any dtype and order are taken", "[optim]") {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Tensor w = Tensor::zeros({2, 3}).set_requires_grad();
    SGD optimizer({{"w", w}}, {.lr = 1});
    optimizer.next().add(Tensor::scalar(0), 2);
    w.set_grad(transpose(Tensor::from({3, 2}, {2, 4, 6, 8, 10, 12}, dtype), 0, 1));
    CHECK(optimizer.step() == Step::applied);
    CHECK(values_of(w) == Values{-1, -3, -5, -2, -4, -6});
  }
  const Tensor image = Tensor::empty(Meta({1, 2, 1, 2}, DType::f32, Layout::channels_last)).set_requires_grad();
  std::memset(image.raw(), 0, 16);
  SGD optimizer({{"image", image}}, {.lr = 1});
  optimizer.next().add(Tensor::scalar(0), 1);
  image.set_grad(Tensor::from({1, 2, 1, 2}, {1, 2, 3, 4}));
  CHECK(optimizer.step() == Step::applied);
  CHECK(values_of(image) == Values{-1, -2, -3, -4});
}

TEST_CASE("the mean over n terms is rounded once", "[optim]") {
  // 41 is the first count for which n * (1 / n) is not 1 in f32; in f64 it is 49.
  for (const double n : {3.0, 41.0, 49.0, 1000.0}) {
    const Parameter a = weight("a", {0}), b = weight("b", {0}, DType::f64);
    SGD optimizer({a, b}, {.lr = 1});
    optimizer.next().add(Tensor::scalar(0), n);
    a.tensor.set_grad(tensor({n}));
    b.tensor.set_grad(tensor({n}, DType::f64));
    CHECK(optimizer.step() == Step::applied);
    CHECK(a.tensor.item() == -1);
    CHECK(b.tensor.item() == -1);
  }
}

TEST_CASE("a parameter without a gradient is left as it is, with its own count of updates", "[optim]") {
  const Parameter used = weight("used", {1.0}), late = weight("late", {1.0});
  AdamW optimizer({used, late}, {.lr = 0.1});
  const std::uint32_t version = late.tensor.version();
  micro_step(optimizer, used.tensor, {1.0});
  CHECK(optimizer.step() == Step::applied);
  CHECK(optimizer.without_gradient() == 1);
  CHECK(late.tensor.item() == 1);  // not even decayed
  CHECK(late.tensor.version() == version);
  CHECK_FALSE(optimizer.state().contains("exp_avg.late"));
  // Its first update is corrected as a first one: lr whatever the size of the gradient.
  micro_step(optimizer, late.tensor, {1e-3});
  CHECK(optimizer.step() == Step::applied);
  CHECK(optimizer.state().at("step.late").item() == 1);
  CHECK(late.tensor.item() == Approx(1 - 0.1 * 0.01 - 0.1).epsilon(1e-4));
}

TEST_CASE("an update is an in-place change that a tape notices", "[optim]") {
  const Parameter w = weight("w", {1.0, 2.0});
  SGD optimizer({w}, {.lr = 0.1});
  optimizer.next().add(Tensor::scalar(0), 1);
  Tape tape;
  const Tensor loss = sum(w.tensor * w.tensor);
  w.tensor.set_grad(tensor({1.0, 1.0}));
  CHECK(optimizer.step() == Step::applied);
  CHECK_THROWS_WITH(tape.backward(loss), Catch::Matchers::Contains("was changed in place after the op had saved it"));
}

TEST_CASE("results do not depend on the number of threads", "[optim]") {
  const auto train = [](int threads, auto make) {
    set_num_threads(threads);
    Generator g(1);
    std::vector<Parameter> p;
    for (const std::int64_t n : {100003, 7, 0, 50000}) {
      p.push_back({"p" + std::to_string(n), normal({n}, g).set_requires_grad()});
      p.back().tensor.bump_version();
    }
    p.push_back({"half", to(normal({40001}, g), DType::f16).set_requires_grad()});
    auto optimizer = make(p);
    for (int k = 0; k < 2; ++k) {
      optimizer->next().add(Tensor::scalar(0), 3);
      for (const Parameter& x : p) x.tensor.set_grad(normal(x.tensor.shape(), g));
      CHECK(optimizer->step() == Step::applied);
    }
    State s = copy_of(optimizer->state());
    for (const Parameter& x : p) s[x.name] = clone(x.tensor);
    s["norm"] = Tensor::scalar(optimizer->gradient_norm(), DType::f64);
    return s;
  };
  const auto adam = [](const auto& p) { return std::make_unique<AdamW>(p, AdamWOptions{.clip_norm = 1.0}); };
  const auto sgd = [](const auto& p) {
    return std::make_unique<SGD>(p, SGDOptions{.momentum = 0.9, .clip_norm = 1.0});
  };
  const int before = num_threads();
  CHECK(same_bits(train(1, adam), train(2, adam)));
  CHECK(same_bits(train(1, sgd), train(3, sgd)));
  set_num_threads(before);
}

TEST_CASE("options outside of their domain are named with their value", "[optim]") {
  using Catch::Matchers::Equals;
  const std::vector<Parameter> p{weight("w", {1.0})};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(SGD(p, {.lr = -1}), Equals("SGD: lr must be not negative, but is -1"));
  CHECK_THROWS_WITH(SGD(p, {.lr = nan}), Equals("SGD: lr must be not negative, but is nan"));
  CHECK_THROWS_WITH(SGD(p, {.momentum = -0.5}), Equals("SGD: momentum must be not negative, but is -0.5"));
  CHECK_THROWS_WITH(SGD(p, {.dampening = 2}), Equals("SGD: dampening must be from 0 to 1, but is 2"));
  CHECK_THROWS_WITH(SGD(p, {.weight_decay = -1}), Equals("SGD: weight_decay must be not negative, but is -1"));
  CHECK_THROWS_WITH(SGD(p, {.nesterov = true}),
                    Equals("SGD: nesterov needs momentum above 0 and no dampening: momentum 0, dampening 0"));
  CHECK_THROWS_WITH(SGD(p, {.accumulate = 0}), Equals("SGD: accumulate must be at least 1, but is 0"));
  CHECK_THROWS_WITH(SGD(p, {.clip_norm = 0}), Equals("SGD: clip_norm must be above 0, but is 0"));
  CHECK_THROWS_WITH(SGD(p, {.clip_value = -1}), Equals("SGD: clip_value must be above 0, but is -1"));
  CHECK_THROWS_WITH(SGD(p, {.clip_norm = 1, .clip_value = 2}),
                    Equals("SGD: clip_norm 1 and clip_value 2 exclude each other. Choose one"));
  CHECK_THROWS_WITH(Adam(p, {.beta1 = 1}), Equals("Adam: beta1 must be from 0 to below 1, but is 1"));
  CHECK_THROWS_WITH(Adam(p, {.beta2 = -0.1}), Equals("Adam: beta2 must be from 0 to below 1, but is -0.1"));
  CHECK_THROWS_WITH(AdamW(p, {.eps = 0}), Equals("AdamW: eps must be above 0, but is 0"));
  CHECK_THROWS_WITH(AdamW(p, {.weight_decay = -1}), Equals("AdamW: weight_decay must be not negative, but is -1"));
  CHECK_THROWS_AS(SGD(p, {.lr = -1}), ValueError);
}

TEST_CASE("parameters that cannot be trained are refused", "[optim]") {
  using Catch::Matchers::Equals;
  const Parameter w = weight("w", {1.0});
  CHECK_THROWS_WITH(SGD({}),
                    Equals("SGD: there are no parameters. Pass model.parameters(), and register every layer with "
                           "child() and every weight with parameter()"));
  CHECK_THROWS_WITH(SGD({w, weight("w", {2.0})}), Equals("SGD: two parameters are named w"));
  CHECK_THROWS_WITH(SGD({w, {"v", w.tensor}}),
                    Equals("SGD: parameter v is the same tensor as an earlier one. List a shared weight once"));
  CHECK_THROWS_WITH(SGD({{"", w.tensor}}), Equals("SGD: parameter 0 \"\" has no name"));
  CHECK_THROWS_WITH(SGD({{"e", Tensor{}}}), Equals("SGD: parameter 0 \"e\" is an empty tensor"));
  CHECK_THROWS_WITH(SGD({{"i", Tensor::zeros({1}, DType::i64)}}),
                    Equals("SGD: parameter i is i64, but only floating dtypes can be trained"));
  CHECK_THROWS_WITH(SGD({{"t", transpose(Tensor::zeros({2, 3}), 0, 1)}}),
                    Equals("SGD: parameter t [3, 2] with strides [1, 3] is a view with gaps. Pass "
                           "the whole tensor"));
}

TEST_CASE("a parameter that is converted behind the optimizer's back is an error", "[optim]") {
  const Parameter w = weight("w", {1.0});
  SGD optimizer({w}, {.lr = 1});
  optimizer.next().add(Tensor::scalar(0), 1);
  w.tensor.adopt(tensor({1.0}, DType::f16));
  CHECK_THROWS_WITH(optimizer.step(),
                    Catch::Matchers::Equals("SGD: parameter w is f16 [1], but was f32 when the optimizer "
                                            "was made. Convert the model first"));
}
