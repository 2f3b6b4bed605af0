// Accumulation: the window of micro-batches, its count and its tail.
#include "reel/core/log.h"
#include "reel/optim/adam.h"
#include "reel/optim/sgd.h"
#include "reel/tests/optim_support.h"

using namespace reel;
using namespace reel::optim;
using namespace reel::test;
using Catch::Matchers::Equals;

namespace {

/// Row-major x [5, 2] and labels of the example with uneven micro-batches.
const Tensor kInputs = Tensor::from({5, 2}, {1, 0, 0, 1, 1, 1, 2, 0, 0, 3});
const Tensor kLabels = Tensor::from({5}, {0, 1, 2, 0, 1}, DType::i64);

/// The weight after one update of SGD with rate 1 from zeros, in micro-batches of these sizes.
Values weight_after(const std::vector<std::int64_t>& sizes, DType dtype) {
  const Tensor w = Tensor::zeros({3, 2}, dtype).set_requires_grad();
  SGD optimizer({{"w", w}}, {.lr = 1, .accumulate = static_cast<std::int64_t>(sizes.size())});
  std::int64_t at = 0;
  for (const std::int64_t n : sizes) {
    const MicroBatch micro = optimizer.next();
    Tape tape;
    const Tensor logits = linear(to(slice(kInputs, 0, at, at + n), dtype), w);
    tape.backward(micro.add(cross_entropy_sum(logits, slice(kLabels, 0, at, at + n))));
    at += n;
  }
  CHECK(optimizer.step() == Step::applied);
  return values_of(w);
}

}  // namespace

TEST_CASE("uneven micro-batches give the gradient of the whole batch", "[optim]") {
  const Values want{1. / 3, -1. / 3, -4. / 15, 7. / 15, -1. / 15, -2. / 15};  // minus the gradient
  for (const DType dtype : {DType::f32, DType::f64})
    for (const auto& sizes : std::vector<std::vector<std::int64_t>>{{4, 1}, {3, 2}, {1, 1, 1, 1, 1}, {5}})
      check_close(weight_after(sizes, dtype), want, dtype, 20);  // 5 terms, each of a few roundings
}

TEST_CASE("the last window of an epoch divides by what it holds", "[optim]") {
  const Parameter p = weight("w", {0});
  SGD optimizer({p}, {.lr = 1, .accumulate = 4});
  Values after;
  for (int k = 0; k < 10; ++k) {
    micro_step(optimizer, p.tensor, {1});
    if (optimizer.taken() == 4) {
      CHECK(optimizer.step() == Step::applied);
      after.push_back(p.tensor.item());
    }
  }
  CHECK(optimizer.end_epoch() == Step::applied);
  after.push_back(p.tensor.item());
  CHECK(after == Values{-1, -2, -3});
  CHECK(optimizer.end_epoch() == Step::empty);
  CHECK(p.tensor.item() == -3);
}

TEST_CASE("the tail of an epoch is flushed, carried or dropped", "[optim]") {
  const auto updates = [](Tail tail) {
    const Parameter p = weight("w", {0});
    SGD optimizer({p}, {.lr = 1, .accumulate = 2, .tail = tail});
    std::vector<int> after;
    for (int batch = 1; batch <= 10; ++batch) {
      micro_step(optimizer, p.tensor, {1});
      const std::int64_t before = optimizer.applied();
      if (optimizer.taken() == 2) CHECK(optimizer.step() == Step::applied);
      if (batch % 5 == 0) CHECK(optimizer.end_epoch() == (tail == Tail::flush ? Step::applied : Step::empty));
      if (optimizer.applied() > before) after.push_back(batch);
    }
    CHECK(p.tensor.item() == -static_cast<double>(after.size()));
    CHECK(optimizer.applied() == static_cast<std::int64_t>(after.size()));
    return after;
  };
  CHECK(updates(Tail::flush) == std::vector<int>{2, 4, 5, 7, 9, 10});
  CHECK(updates(Tail::carry) == std::vector<int>{2, 4, 6, 8, 10});
  CHECK(updates(Tail::drop) == std::vector<int>{2, 4, 7, 9});
}

TEST_CASE("a micro-batch of ignored labels counts nothing", "[optim]") {
  const Tensor w = Tensor::zeros({3, 2}).set_requires_grad();
  AdamW optimizer({{"w", w}}, {.lr = 0.1, .accumulate = 2});
  const auto play = [&](const Tensor& labels) {
    const MicroBatch micro = optimizer.next();
    Tape tape;
    tape.backward(micro.add(cross_entropy_sum(linear(kInputs, w), labels)));
  };
  const Tensor ignored = Tensor::full({5}, -100, DType::i64);
  play(kLabels);
  const Values gradient = values_of(w.grad());
  play(ignored);
  CHECK(values_of(w.grad()) == gradient);
  CHECK(optimizer.window_count().item() == 5);
  CHECK(optimizer.step() == Step::applied);

  // A window of nothing else changes nothing at all.
  const State before = copy_of(optimizer.state());
  const Tensor weights = clone(w);
  const std::uint32_t version = w.version();
  play(ignored);
  play(ignored);
  CHECK(optimizer.step() == Step::empty);
  CHECK(same_bits(optimizer.state(), before));
  CHECK(same_bits(w, weights));
  CHECK(w.version() == version);
  CHECK_FALSE(w.grad());
  CHECK(optimizer.applied() == 1);
}

TEST_CASE("micro-batches know their place", "[optim]") {
  const Parameter p = weight("w", {0});
  SGD optimizer({p}, {.lr = 1, .accumulate = 3});
  for (int window = 0; window < 2; ++window) {
    for (int k = 0; k < 3; ++k) {
      const MicroBatch m = optimizer.next();
      CHECK(m.index() == k);
      CHECK(m.of() == 3);
      CHECK(m.first() == (k == 0));
      CHECK(m.last() == (k == 2));
      m.add(Tensor::scalar(0), 1);
      CHECK(m.window_count().item() == k + 1);
    }
    CHECK(optimizer.step() == Step::applied);
  }
}

TEST_CASE("a micro-batch that is announced as the last closes the window", "[optim]") {
  const Parameter p = weight("w", {0});
  SGD optimizer({p}, {.lr = 1, .accumulate = 4});
  micro_step(optimizer, p.tensor, {1});
  const MicroBatch m = optimizer.next(true);
  CHECK(m.last());
  m.add(Tensor::scalar(0), 1);
  CHECK(optimizer.step() == Step::applied);
  CHECK(p.tensor.item() == -0.5);
  CHECK_FALSE(optimizer.next().last());
}

TEST_CASE("calls out of order are errors that say what to do, and change nothing", "[optim]") {
  const Parameter p = weight("w", {0});
  SGD optimizer({p}, {.lr = 1, .accumulate = 4});
  CHECK_THROWS_WITH(optimizer.step(),
                    Equals("SGD: step: no micro-batch of the window has begun. Call next() before each "
                           "backward pass"));
  CHECK(optimizer.flush() == Step::empty);
  micro_step(optimizer, p.tensor, {1});
  micro_step(optimizer, p.tensor, {1});
  CHECK_THROWS_AS(optimizer.step(), StateError);
  CHECK_THROWS_WITH(optimizer.step(),
                    Equals("SGD: step: this is micro-batch 2 of 4. Take the others with next(), or call "
                           "flush() to update with these"));
  CHECK(p.tensor.grad().item() == 2);
  micro_step(optimizer, p.tensor, {1});
  micro_step(optimizer, p.tensor, {1});
  CHECK_THROWS_WITH(optimizer.next(),
                    Equals("SGD: next: the window's 4 of 4 micro-batches have been taken. Call step(), or "
                           "discard() to forget them"));
  CHECK_THROWS_WITH(optimizer.step(0), Equals("SGD: loss_scale must be above 0, but is 0"));
  CHECK(optimizer.step() == Step::applied);
  CHECK(p.tensor.item() == -1);

  const MicroBatch old = optimizer.next();
  optimizer.next();
  CHECK_THROWS_WITH(old.add(Tensor::scalar(0), 1),
                    Equals("MicroBatch: add: micro-batch 1 of 4 is over. Use the one that "
                           "next() returned last"));
  const MicroBatch now = optimizer.next();
  CHECK_THROWS_WITH(now.add(Tensor::scalar(0), -1),
                    Equals("MicroBatch: add: the count must be finite and not negative, but is -1"));
  CHECK_THROWS_WITH(now.add(Tensor::zeros({2}), 1),
                    Equals("MicroBatch: add: the sum must be one number, but its shape is [2]"));
  CHECK_THROWS_WITH(now.add(Tensor::scalar(0), Tensor::zeros({3})),
                    Equals("MicroBatch: add: the count must be one number, but its shape is [3]"));
  CHECK(optimizer.window_count().item() == 0);
  optimizer.set_schedule([](std::int64_t) { return -1.0; });
  CHECK_THROWS_WITH(optimizer.flush(), Equals("SGD: the schedule's lr must be not negative, but is -1"));
}

TEST_CASE("a loss that was never added is an error, not a silent standstill", "[optim]") {
  const Parameter p = weight("w", {0});
  SGD optimizer({p}, {.lr = 1});
  const MicroBatch micro = optimizer.next();
  Tape tape;
  tape.backward(sum(p.tensor));
  CHECK_THROWS_WITH(optimizer.step(),
                    Equals("SGD: step: parameter w has a gradient, but no loss was added to the window. "
                           "Write tape.backward(micro.add(loss))"));
  micro.add(Tensor::scalar(0), 1);  // better late than never
  CHECK(optimizer.step() == Step::applied);
  CHECK(p.tensor.item() == -1);
  optimizer.next();
  CHECK(optimizer.step() == Step::empty);  // a rank without data
}

TEST_CASE("discard forgets gradients and count", "[optim]") {
  const Parameter p = weight("w", {0});
  SGD optimizer({p}, {.lr = 1, .accumulate = 2});
  micro_step(optimizer, p.tensor, {100}, 7);
  optimizer.discard();
  CHECK(optimizer.taken() == 0);
  CHECK(optimizer.window_count().item() == 0);
  CHECK_FALSE(p.tensor.grad());
  micro_step(optimizer, p.tensor, {1});
  micro_step(optimizer, p.tensor, {3});
  CHECK(optimizer.step() == Step::applied);
  CHECK(p.tensor.item() == -2);
}

TEST_CASE("an auxiliary loss joins with its own count", "[optim]") {
  // Micro-batch 1: sum 3 w over 3 terms, auxiliary w * 2; micro-batch 2: sum 5 w over 1 term,
  // auxiliary w * 6. (3 + 3 * 2 + 5 + 1 * 6) / (3 + 1) = 5
  for (const DType dtype : {DType::f32, DType::f64, DType::f16}) {
    const Parameter p = weight("w", {1}, dtype);
    SGD optimizer({p}, {.lr = 1, .accumulate = 2});
    for (const auto& [s, n, a] : std::vector<std::array<double, 3>>{{3, 3, 2}, {5, 1, 6}}) {
      const MicroBatch micro = optimizer.next();
      const Tensor count = Tensor::scalar(n, DType::f64);
      Tape tape;
      const Tensor main = micro.add(sum(p.tensor * s), count), extra = micro.auxiliary(sum(p.tensor * a), count);
      tape.backward(main + extra);
    }
    CHECK(optimizer.window_count().item() == 4);
    CHECK(optimizer.step() == Step::applied);
    CHECK(p.tensor.item() == -4);
  }
}

TEST_CASE("the loss scale is taken out of the gradient", "[optim]") {
  const Parameter p = weight("w", {0});
  SGD optimizer({p}, {.lr = 1});
  micro_step(optimizer, p.tensor, {65536 * 3.0}, 2);
  CHECK(optimizer.step(65536) == Step::applied);
  CHECK(p.tensor.item() == -1.5);
}

TEST_CASE("an optimizer without gradients is legal", "[optim]") {
  std::vector<std::string> said;
  set_log_callback([&](LogLevel, std::string_view text) { said.emplace_back(text); });
  const Parameter p = weight("w", {2}), q = weight("v", {3});
  AdamW optimizer({p, q}, {.lr = 0.1, .clip_norm = 1});
  for (int k = 0; k < 2; ++k) {
    optimizer.next().add(Tensor::scalar(0), 5);
    CHECK(optimizer.step() == Step::applied);
  }
  set_log_callback({});
  CHECK(p.tensor.item() == 2);
  CHECK(optimizer.applied() == 2);
  CHECK(optimizer.without_gradient() == 2);
  CHECK(optimizer.gradient_norm() == 0);
  CHECK(said == std::vector<std::string>{
                    "AdamW: 2 of 2 parameters got no gradient and were left as they are. This is said once"});
}

TEST_CASE("a step asks the heap for nothing in a steady state", "[optim]") {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 4; ++i) parameters.push_back(weight("w" + std::to_string(i), Values(32, 1.0)));
  AdamW optimizer(parameters, {.lr = 1e-3, .accumulate = 2, .clip_norm = 1});
  const Tensor gradient = Tensor::full({32}, 0.5), count = Tensor::scalar(4, DType::f64), loss = Tensor::scalar(0);
  std::int64_t calls = 0;
  for (int k = 0; k < 4; ++k) {
    const std::int64_t before = system_allocator().stats().allocations;
    for (int m = 0; m < 2; ++m) optimizer.next().add(loss, count);
    for (const Parameter& p : parameters) p.tensor.set_grad(gradient);
    CHECK(optimizer.step() == Step::applied);
    calls = system_allocator().stats().allocations - before;
  }
  CHECK(calls == 0);
}
