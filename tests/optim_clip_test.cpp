// Clipping, and the gate that keeps every non-finite number out of the state.
#include <cmath>

#include "reel/optim/adam.h"
#include "reel/optim/sgd.h"
#include "reel/tests/optim_support.h"

using namespace reel;
using namespace reel::optim;
using namespace reel::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

struct Outcome {
  Step step;
  Values applied;  // the gradient that SGD with rate 1 applied
  double norm;
};
/// One update from zeros with a stored gradient, a count and a loss scale.
Outcome apply(const Values& gradient,
              const SGDOptions& options,
              double count = 1,
              double loss_scale = 1,
              DType grad_dtype = DType::f32,
              DType dtype = DType::f32) {
  const Parameter p = weight("w", Values(gradient.size(), 0.0), dtype);
  SGD optimizer({p}, options);
  optimizer.next().add(Tensor::scalar(0), count);
  const Tensor g = tensor(gradient, grad_dtype);
  p.tensor.set_grad(g);
  const Values before = values_of(g);
  Outcome o{optimizer.step(loss_scale), values_of(p.tensor), optimizer.gradient_norm()};
  for (double& v : o.applied) v = v == 0 ? 0 : -v;
  if (std::isfinite(o.norm)) CHECK(values_of(g) == before);  // the stored gradient is not scaled
  CHECK_FALSE(p.tensor.grad());                              // but gone from the parameter
  return o;
}

}  // namespace

TEST_CASE("clipping by norm comes after the division by count and loss scale", "[optim]") {
  const SGDOptions clip{.lr = 1, .clip_norm = 1};
  CHECK(apply({3, 4}, clip).applied == Values{0.6f, 0.8f});
  CHECK(apply({3 * 65536.0, 4 * 65536.0}, clip, 1, 65536).applied == Values{0.6f, 0.8f});
  CHECK(apply({3, 4}, clip, 5).applied == Values{0.6f, 0.8f});  // norm 1: not clipped
  CHECK(apply({3, 4}, clip, 10).applied == Values{0.3f, 0.4f});
  CHECK(apply({3, 4}, clip).norm == 5);  // as before clipping
  CHECK(apply({0, 0}, clip).applied == Values{0, 0});
}

TEST_CASE("clipping by norm does not overflow", "[optim]") {
  const SGDOptions clip{.lr = 1, .clip_norm = 1};
  for (const auto& [size, grad, dtype] :
       {std::tuple{1e20, DType::f32, DType::f32}, {1e200, DType::f64, DType::f64}, {1e307, DType::f64, DType::f64}}) {
    const Outcome o = apply(Values(100, size), clip, 1, 1, grad, dtype);
    CHECK(o.step == Step::applied);
    check_close(o.applied, Values(100, 0.1), dtype, 1);
    CHECK(o.norm == Approx(10 * size).epsilon(1e-6));
  }
  // In half types the square of 5000 would.
  for (const DType half : {DType::f16, DType::bf16}) {
    const Outcome o = apply({5000}, {.lr = 1, .clip_norm = 1e4}, 1, 1, half);
    CHECK(o.norm == Tensor::scalar(5000, half).item());
    CHECK(o.applied == Values{o.norm});
  }
}

TEST_CASE("clipping by value cuts each number", "[optim]") {
  const SGDOptions clip{.lr = 1, .clip_value = 0.5};
  CHECK(apply({3, -4, 0.25}, clip).applied == Values{0.5, -0.5, 0.25});
  CHECK(apply({3, -4, 0.25}, clip, 8).applied == Values{0.375, -0.5, 0.03125});
  CHECK(apply({1e38, 1, 1}, clip, 1, 0.5).applied == Values{0.5, 0.5, 0.5});
}

TEST_CASE("a gradient that is not finite changes nothing but the window", "[optim]") {
  for (const double bad : {kInf, -kInf, kNan}) {
    for (const bool clip : {false, true}) {
      const Parameter p = weight("w", {1, 2}), q = weight("v", {3});
      AdamWOptions options{.lr = 0.1, .accumulate = 2};
      if (clip) options.clip_norm = 1;
      AdamW optimizer({p, q}, options);
      const auto window = [&](double g) {
        micro_step(optimizer, p.tensor, {g, 0.5});
        micro_step(optimizer, q.tensor, {1});
        return optimizer.step();
      };
      CHECK(window(1) == Step::applied);
      const State before = copy_of(optimizer.state());
      const Tensor w = clone(p.tensor), v = clone(q.tensor);
      const std::uint32_t version = p.tensor.version();
      CHECK(window(bad) == Step::skipped);
      CHECK(same_bits(optimizer.state(), before));
      CHECK(same_bits(p.tensor, w));
      CHECK(same_bits(q.tensor, v));
      CHECK(p.tensor.version() == version);
      CHECK(optimizer.applied() == 1);
      CHECK_FALSE(std::isfinite(optimizer.gradient_norm()));
      CHECK(window(1) == Step::applied);  // nothing is left of the infinity
      CHECK(optimizer.applied() == 2);
    }
  }
}

TEST_CASE("the schedule stands still in a skipped step", "[optim]") {
  const Parameter p = weight("w", {0});
  SGD optimizer({p}, {.lr = 1});
  optimizer.set_schedule([](std::int64_t k) { return static_cast<double>(k + 1); });
  micro_step(optimizer, p.tensor, {kInf});
  CHECK(optimizer.step() == Step::skipped);
  CHECK(optimizer.lr() == 1);
  micro_step(optimizer, p.tensor, {1});
  CHECK(optimizer.step() == Step::applied);
  CHECK(p.tensor.item() == -1);
  CHECK(optimizer.lr() == 2);
}

TEST_CASE("a first update that is skipped leaves no state", "[optim]") {
  const Parameter p = weight("w", {0}, DType::f16);
  Adam optimizer({p});
  const State before = copy_of(optimizer.state());
  optimizer.next().add(Tensor::scalar(0), 1);
  p.tensor.set_grad(tensor({kNan}));
  CHECK(optimizer.step() == Step::skipped);
  CHECK(same_bits(optimizer.state(), before));
}

TEST_CASE("a gradient is held against the range after the division too", "[optim]") {
  CHECK(apply({1e10}, {.lr = 1}, 1, 0x1p-120).step == Step::skipped);
  CHECK(apply({1e10}, {.lr = 1, .clip_norm = 1}, 1, 0x1p-120).step == Step::skipped);
  CHECK(apply({1e10}, {.lr = 1}, 1, 0x1p-120, DType::f64, DType::f64).step == Step::applied);
  CHECK(apply({3e38}, {.lr = 1}).step == Step::applied);
  CHECK(apply({1}, {.lr = 1}, 1e308, 1e308).step == Step::skipped);  // count * scale overflows
}

TEST_CASE("Adam refuses a gradient whose square leaves the range", "[optim]") {
  const auto step = [](double g, std::optional<double> clip, DType dtype) {
    const Parameter p = weight("w", {0}, dtype);
    Adam optimizer({p}, {.clip_norm = clip});
    micro_step(optimizer, p.tensor, {g});
    return optimizer.step();
  };
  CHECK(step(1e20, {}, DType::f32) == Step::skipped);
  CHECK(step(1e18, {}, DType::f32) == Step::applied);
  CHECK(step(1e20, 1.0, DType::f32) == Step::applied);
  CHECK(step(1e20, {}, DType::f64) == Step::applied);
}

TEST_CASE("a count that is not finite skips the update", "[optim]") {
  const Parameter p = weight("w", {0});
  SGD optimizer({p}, {.lr = 1});
  optimizer.next().add(Tensor::scalar(0), Tensor::scalar(kNan, DType::f64));
  p.tensor.set_grad(tensor({1}));
  CHECK(optimizer.step() == Step::skipped);
  CHECK(p.tensor.item() == 0);
}

TEST_CASE("the gate can be switched off", "[optim]") {
  const Outcome o = apply({kNan, 1}, {.lr = 1, .check_finite = false});
  CHECK(o.step == Step::applied);
  CHECK(std::isnan(o.applied[0]));
  CHECK(o.applied[1] == 1);
  CHECK(std::isnan(o.norm));  // not computed
}
