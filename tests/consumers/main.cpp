// A stranger's program: one include, one training run.
#define CHECK(x) broken  // a macro of the stranger's

#include <reel/reel.h>

#include <cstdio>
#include <cstring>

int main() {
  using namespace reel;
  if (std::strcmp(version(), kVersion) != 0) return 2;

  nn::Random random(7);
  const Tensor x = normal({32, 4}, random.generator());
  const Tensor y = sum(x, {1}, true);
  nn::Sequential model(nn::Linear({.in = 4, .out = 1}, random));
  optim::SGD optimizer(model.parameters(), {.lr = 0.1});
  double loss = 0;
  for (int i = 0; i < 100; ++i) {
    const optim::MicroBatch micro = optimizer.next();
    Tape tape;
    const nn::Loss error = nn::mse(model(x), y);
    tape.backward(micro.add(error));
    (void)optimizer.step();
    loss = error.mean().item();
  }
#ifdef DATA_DIR
  if (data::digits("test", DATA_DIR "/digits").size() != 359) return 3;
#endif
  try {
    matmul(x, x);
    return 4;
  } catch (const ShapeError& e) {
    std::printf("as it should be: %s\n", e.what());
  }
  std::printf("Reel %s, loss %g\n", version(), loss);
  return loss < 1e-3 ? 0 : 1;
}
