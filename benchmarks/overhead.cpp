// What the engine itself costs: ops on a few numbers, where the arithmetic is next to nothing.
#include <cstdio>

#include "reel/benchmarks/measure.h"
#include "reel/reel.h"

using namespace reel;

namespace {

/// Keeps the compiler from removing a result that nobody reads.
void use(const Tensor& t) {
  asm volatile("" : : "r"(t.impl()) : "memory");
}

}  // namespace

int main() {
  set_num_threads(1);
  Generator g(1);
  const Tensor a = uniform({8}, g), b = uniform({8}, g);
  const Tensor ra = uniform({8}, g).set_requires_grad(), rb = uniform({8}, g).set_requires_grad();

  // The same network as the peers: x [4, 8] -> 16 -> ReLU -> 1, squared error, SGD.
  const nn::Random random(1);
  const nn::Linear first({.in = 8, .out = 16}, random), second({.in = 16, .out = 1}, random);
  std::vector<Parameter> parameters;
  for (const auto& [prefix, layer] : {std::pair<std::string, nn::Linear>{"0.", first}, {"1.", second}})
    for (const Parameter& p : layer.parameters()) parameters.push_back({prefix + p.name, p.tensor});
  optim::SGD sgd(parameters, {.lr = 1e-3});
  const Tensor x = uniform({4, 8}, g), y = uniform({4, 1}, g);

  const std::vector<bench::Case> cases = {
      {"add, 8 floats, no tape", [&] { use(a + b); }},
      {"add, 8 floats, recorded",
       [&] {
         Tape tape;
         for (int i = 0; i < 100; ++i) use(ra + rb);
       },
       100},
      {"100 adds, forward and backward",
       [&] {
         ra.set_grad({});
         rb.set_grad({});
         Tape tape;
         Tensor d = ra + rb;
         for (int i = 0; i < 99; ++i) d = d + rb;
         tape.backward(sum(d));
       }},
      {"MLP 8-16-1, batch 4, SGD step",
       [&] {
         const optim::MicroBatch micro = sgd.next();
         Tape tape;
         tape.backward(micro.add(nn::mse(second(relu(first(x))), y)));
         sgd.step();
       }},
  };
  std::printf("%-34s %12s %12s %12s\n", "", "min ns", "median ns", "p90 ns");
  for (const bench::Result& r : bench::measure(cases))
    std::printf("%-34s %12.1f %12.1f %12.1f\n", r.name.c_str(), r.minimum * 1e9, r.median * 1e9, r.p90 * 1e9);
}
