// Whole training steps (forward, backward, AdamW) of the usual small networks, on random data.
//   train_step [threads]
#include <cstdio>
#include <cstdlib>

#include "reel/benchmarks/measure.h"
#include "reel/reel.h"

using namespace reel;

namespace {

bench::Case train_case(const std::string& name, const nn::Sequential& model, const Tensor& x, std::int64_t classes) {
  Generator g(3);
  const Tensor labels = random_integers({x.shape()[0]}, g, 0, classes);
  const auto adamw = std::make_shared<optim::AdamW>(model.parameters(), optim::AdamWOptions{.lr = 1e-3});
  return {name, [=] {
            const optim::MicroBatch micro = adamw->next();
            Tape tape;
            tape.backward(micro.add(nn::cross_entropy(model(x), labels)));
            adamw->step();
          }};
}

}  // namespace

int main(int argc, char** argv) {
  set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  Generator g(2);
  const std::vector<bench::Case> cases = {
      train_case("cnn 1-32-64, batch 64", nn::cnn(), uniform({64, 1, 28, 28}, g), 10),
      train_case("mlp 784-512-512-10, batch 64", nn::mlp({784, 512, 512, 10}), uniform({64, 784}, g), 10),
      train_case("mlp 784-512-512-10, batch 256", nn::mlp({784, 512, 512, 10}), uniform({256, 784}, g), 10),
  };
  std::printf("%-34s %12s %12s %12s   threads %d\n", "", "min ms", "median ms", "p90 ms", num_threads());
  for (const bench::Result& r : bench::measure(cases, 5, 0.5))
    std::printf("%-34s %12.3f %12.3f %12.3f\n", r.name.c_str(), r.minimum * 1e3, r.median * 1e3, r.p90 * 1e3);
}
