// The smallest whole program: a two-layer network learns XOR in a second.
#include <cstdio>

#include "reel/reel.h"

using namespace reel;

int main() {
  const Tensor x = Tensor::from({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  const Tensor y = Tensor::from({4, 1}, {0, 1, 1, 0});

  nn::Random random(1);
  nn::Sequential model(nn::Linear({.in = 2, .out = 8}, random), nn::Tanh(), nn::Linear({.in = 8, .out = 1}, random));
  optim::AdamW optimizer(model.parameters(), {.lr = 0.05});

  double loss = 1;
  for (int step = 0; step < 300; ++step) {
    const optim::MicroBatch micro = optimizer.next();
    Tape tape;
    const nn::Loss error = nn::bce_with_logits(model(x), y);
    tape.backward(micro.add(error));
    (void)optimizer.step();
    loss = error.mean().item();
    if (step % 100 == 0) std::printf("step %d: loss %.4f\n", step, loss);
  }
  const std::vector<float> p = sigmoid(model(x)).to_vector();
  std::printf("0^0 %.2f, 0^1 %.2f, 1^0 %.2f, 1^1 %.2f\n", p[0], p[1], p[2], p[3]);
  return loss < 0.05 ? 0 : 1;
}
