// Saving and restoring, exactly, also in the middle of a window.
#include "reel/core/rng.h"
#include "reel/optim/adam.h"
#include "reel/optim/sgd.h"
#include "reel/tests/optim_support.h"

using namespace reel;
using namespace reel::optim;
using namespace reel::test;
using Catch::Matchers::Equals;

namespace {

/// Parameters of several dtypes, one of which never gets a gradient.
std::vector<Parameter> make_parameters() {
  Generator g(5);
  std::vector<Parameter> p{{"conv.weight", normal({3, 4}, g)},
                           {"conv.bias", normal({3}, g)},
                           {"half", to(normal({5}, g), DType::f16)},
                           {"wide", normal({2}, g, 0, 1, DType::f64)},
                           {"frozen", normal({2}, g)}};
  for (const Parameter& x : p) x.tensor.set_requires_grad();
  return p;
}

std::unique_ptr<Optimizer> make(int kind, const std::vector<Parameter>& p) {
  if (kind == 0) return std::make_unique<AdamW>(p, AdamWOptions{.lr = 0.01, .accumulate = 3, .clip_norm = 1});
  if (kind == 1)
    return std::make_unique<SGD>(p, SGDOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.2, .accumulate = 3});
  return std::make_unique<SGD>(p, SGDOptions{.lr = 0.1, .accumulate = 3});
}

/// Micro-batch k: gradients that are a function of k alone.
void play(Optimizer& o, int k) {
  Generator g(static_cast<std::uint64_t>(k + 100));
  const MicroBatch micro = o.next();
  Tape tape;
  Tensor loss = Tensor::scalar(0, DType::f64);
  for (const Parameter& p : o.parameters())
    if (p.name != "frozen") loss = loss + sum(p.tensor * normal(p.tensor.shape(), g, 0, 1, p.tensor.dtype()));
  tape.backward(micro.add(loss, k % 3 + 1));
  if (micro.last()) CHECK(o.step() == Step::applied);
}

State weights_of(const std::vector<Parameter>& p) {
  State s;
  for (const Parameter& x : p) s[x.name] = clone(x.tensor);
  return s;
}
void restore_weights(const std::vector<Parameter>& p, const State& s) {
  for (const Parameter& x : p) {
    std::memcpy(x.tensor.raw(), s.at(x.name).raw(), static_cast<std::size_t>(x.tensor.meta().bytes()));
    x.tensor.bump_version();
  }
}

}  // namespace

TEST_CASE("a resumed run equals the whole one to the bit, wherever it stopped", "[optim]") {
  for (const int kind : {0, 1, 2}) {
    for (int stop = 0; stop <= 7; ++stop) {
      for (const bool weights_first : {false, true}) {
        INFO("optimizer " << kind << ", stopped after micro-batch " << stop);
        const auto p = make_parameters(), q = make_parameters();
        const auto whole = make(kind, p);
        State saved, weights;
        for (int k = 0; k < 10; ++k) {
          if (k == stop) {
            saved = copy_of(whole->state());
            weights = weights_of(p);
          }
          play(*whole, k);
        }
        const auto resumed = make(kind, q);
        if (weights_first) restore_weights(q, weights);
        resumed->load_state(saved);
        if (!weights_first) restore_weights(q, weights);
        CHECK(same_bits(resumed->state(), saved));  // load is pure
        for (int k = stop; k < 10; ++k) play(*resumed, k);
        CHECK(same_bits(weights_of(q), weights_of(p)));
        CHECK(same_bits(resumed->state(), whole->state()));
      }
    }
  }
}

TEST_CASE("the names of a state", "[optim]") {
  const auto p = make_parameters();
  const auto names = [&](int kind, int micro_batches) {
    const auto o = make(kind, p);
    for (int k = 0; k < micro_batches; ++k) play(*o, k);
    std::string s;
    for (const auto& [name, t] : o->state()) s += name + " ";
    return s;
  };
  CHECK(names(0, 0) == "applied window window.count ");
  CHECK(names(1, 3) ==
        "applied master.half momentum_buffer.conv.bias momentum_buffer.conv.weight "
        "momentum_buffer.half "
        "momentum_buffer.wide step.conv.bias step.conv.weight step.half step.wide window "
        "window.count ");
  CHECK(names(2, 1) ==
        "applied window window.count window.grad.conv.bias window.grad.conv.weight window.grad.half "
        "window.grad.wide ");
  const auto o = make(0, p);
  for (int k = 0; k < 4; ++k) play(*o, k);
  const State s = o->state();
  CHECK(s.at("applied").item() == 1);
  CHECK(values_of(s.at("window")) == Values{1, 3, 0});
  CHECK(s.at("window.count").item() == 1);
  CHECK(s.at("exp_avg.conv.weight").shape() == Shape{3, 4});
  CHECK(s.at("exp_avg.half").dtype() == DType::f32);
  CHECK(s.at("exp_avg_sq.wide").dtype() == DType::f64);
}

TEST_CASE("what was loaded is not tied to where it came from", "[optim]") {
  const auto p = make_parameters(), q = make_parameters();
  const auto a = make(0, p), b = make(0, q);
  for (int k = 0; k < 4; ++k) play(*a, k);
  b->load_state(a->state());
  const State before = copy_of(b->state());
  play(*a, 4);
  CHECK(same_bits(b->state(), before));
}

TEST_CASE("a state that does not fit is refused as a whole, with every name", "[optim]") {
  const Parameter w = weight("w", {1, 2}), v = weight("v", {3});
  Adam optimizer({w, v}, {.accumulate = 2});
  for (int k = 0; k < 2; ++k) micro_step(optimizer, w.tensor, {1, 1});
  CHECK(optimizer.step() == Step::applied);
  micro_step(optimizer, w.tensor, {1, 1});
  const State good = copy_of(optimizer.state());

  State bad = good;
  bad.erase("exp_avg_sq.w");
  bad["exp_avg.v"] = Tensor::zeros({2});
  bad["momentum_buffer.w"] = Tensor::zeros({2});
  bad["window.count"] = Tensor::zeros({});
  CHECK_THROWS_WITH(optimizer.load_state(bad),
                    Equals("Adam: load_state: the state does not fit. missing: exp_avg_sq.w, "
                           "step.v, exp_avg_sq.v; unexpected: "
                           "momentum_buffer.w; wrong: window.count is [] f32, not [] f64, "
                           "exp_avg.v is [2] f32, not [1] "
                           "f32. Nothing was loaded"));
  CHECK_THROWS_AS(optimizer.load_state({}), ValueError);
  CHECK(same_bits(optimizer.state(), good));

  const Parameter w2 = weight("w", {1, 2}), v2 = weight("v", {3});
  Adam other({w2, v2}, {.accumulate = 4});
  CHECK_THROWS_WITH(other.load_state(good),
                    Equals("Adam: load_state: the state does not fit. wrong: the saved window has "
                           "micro-batch 1 of 2, but "
                           "accumulate is 4. Nothing was loaded"));
  // Between windows another length is fine.
  optimizer.discard();
  other.load_state(optimizer.state());
  CHECK(other.applied() == 1);
  CHECK(other.accumulate() == 4);

  State other_kind = copy_of(good);
  SGD sgd({w2, v2}, {.accumulate = 2});
  CHECK_THROWS_WITH(sgd.load_state(other_kind),
                    Equals("SGD: load_state: the state does not fit. unexpected: exp_avg.w, "
                           "exp_avg_sq.w. Nothing was loaded"));
}

TEST_CASE("loading an empty window clears the gradients", "[optim]") {
  const Parameter w = weight("w", {1});
  SGD optimizer({w}, {.lr = 1, .accumulate = 2});
  const State fresh = copy_of(optimizer.state());
  micro_step(optimizer, w.tensor, {7});
  optimizer.load_state(fresh);
  CHECK_FALSE(w.tensor.grad());
  CHECK(optimizer.taken() == 0);
  CHECK(optimizer.window_count().item() == 0);
}

TEST_CASE("a window that was announced to close stays closed", "[optim]") {
  const Parameter w = weight("w", {0}), v = weight("w", {0});
  SGD a({w}, {.lr = 1, .accumulate = 4}), b({v}, {.lr = 1, .accumulate = 4});
  a.next(true).add(Tensor::scalar(0), 2);
  w.tensor.set_grad(tensor({4}));
  b.load_state(a.state());
  CHECK(b.step() == Step::applied);
  CHECK(v.tensor.item() == -2);
}
