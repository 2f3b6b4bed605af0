// A training step in which the n-th allocation fails, for every n: nothing is lost, and the engine goes on.
#include "reel/core/allocator_adaptors.h"
#include "reel/reel.h"
#include "reel/tests/support/catch.h"

using namespace reel;

namespace {

struct Training {
  nn::Sequential model = nn::lenet({.height = 8, .width = 8, .classes = 4, .dropout = 0.25}, nn::Random(5));
  optim::AdamW optimizer{model.parameters(), {.lr = 1e-2, .accumulate = 2, .clip_norm = 1.0}};
  Tensor images, labels;

  Training() {
    Generator g(9);
    images = uniform({4, 1, 8, 8}, g);
    labels = random_integers({4}, g, 0, 4);
  }
  void micro_batch() {
    const optim::MicroBatch micro = optimizer.next();
    Tape tape;
    tape.backward(micro.add(nn::cross_entropy(model(images), labels)));
    if (micro.last()) optimizer.step();
  }
  std::vector<double> numbers() const {
    std::vector<double> all;
    for (const auto& [name, tensor] : model.state())
      for (const double v : tensor.to_vector<double>()) all.push_back(v);
    for (const auto& [name, tensor] : optimizer.state())
      for (const double v : tensor.to_vector<double>()) all.push_back(v);
    return all;
  }
};

}  // namespace

TEST_CASE("any allocation of a training step may fail", "[faults]") {
  set_num_threads(1);
  Training sound;
  for (int i = 0; i < 4; ++i) sound.micro_batch();
  const std::vector<double> right = sound.numbers();

  int failures = 0;
  for (int n = 1;; ++n) {
    Training t;
    t.micro_batch();
    t.micro_batch();
    const std::vector<double> before = t.numbers();
    const Generator random = t.model.random().generator();
    bool failed = false;
    {
      const AllocatorScope scope(std::make_shared<FailingAllocator>(n));
      try {
        t.micro_batch();
        t.micro_batch();
      } catch (const OutOfMemory&) {
        failed = true;
      }
    }
    if (!failed) {
      CHECK(t.numbers() == right);
      break;
    }
    ++failures;
    t.optimizer.discard();
    t.model.random().generator() = random;  // dropout takes the same numbers again
    if (t.numbers() != before) FAIL("allocation " << n << " failed and left its mark");
    t.micro_batch();
    t.micro_batch();
    if (t.numbers() != right) FAIL("after allocation " << n << " had failed, the same step gave other numbers");
  }
  CHECK(failures > 50);
}
