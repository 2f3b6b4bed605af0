#include "reel/autograd/tape.h"

#include <thread>

#include "reel/autograd/ops.h"
#include "reel/core/allocator_adaptors.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using Catch::Matchers::Contains;

namespace {

Tensor leaf(const Shape& shape, std::initializer_list<float> v) {
  return Tensor::from(shape, v).set_requires_grad();
}
using Floats = std::vector<float>;

}  // namespace

TEST_CASE("ops are recorded only under a live tape, and only where a leaf is involved", "[tape]") {
  const Tensor x = leaf({2}, {1, 2}), c = Tensor::from({2}, {3, 4});
  mul(x, c);
  Tape tape;
  CHECK(tape.rows().empty());
  mul(c, c);
  CHECK(tape.rows().empty());
  mul(x, c);
  CHECK(tape.rows().size() == 1);
  {
    const NoGrad pause;
    mul(x, c);
  }
  CHECK(tape.rows().size() == 1);
}

TEST_CASE("backward adds to the gradients of leaves", "[tape]") {
  const Tensor x = leaf({3}, {1, 2, 3});
  for (const float k : {1.0f, 2.0f}) {  // the second pass adds to the first
    Tape tape;
    tape.backward(sum(x * x));
    CHECK(x.grad().to_vector() == Floats{2 * k, 4 * k, 6 * k});
    CHECK(tape.rows().empty());  // everything saved was freed
  }
}

TEST_CASE("a value that is used several times gets the sum of its gradients", "[tape]") {
  // b = a + a; c = b * b + b; dc/da = (2 b + 1) * 2, engine case 18
  const Tensor a = leaf({1}, {3});
  Tape tape;
  const Tensor b = a + a;
  tape.backward(b * b + b);
  CHECK(a.grad().item() == 26);
}

TEST_CASE("two leaves never share the memory of a gradient", "[tape]") {
  const Tensor a = leaf({2}, {1, 2}), b = leaf({2}, {3, 4});
  {
    Tape tape;
    tape.backward(sum(a + b));
  }
  CHECK(a.grad().raw() != b.grad().raw());
  a.grad().data<float>()[0] = 50;
  CHECK(b.grad().to_vector() == Floats{1, 1});
}

TEST_CASE("misuse of backward is an error that says what to do", "[tape]") {
  const Tensor x = leaf({2}, {1, 2});
  {
    Tape tape;
    CHECK_THROWS_WITH(tape.backward(x * x), Contains("the loss must be one number, but its shape is [2]"));
    CHECK_THROWS_WITH(tape.backward(Tensor::scalar(1)),
                      Contains("does not depend on any tensor that requires a gradient"));
    const Tensor y = sum(x);
    tape.backward(y);
    CHECK_THROWS_WITH(tape.backward(y), Contains("already played"));
    CHECK_THROWS_AS(tape.backward(y), GradError);
  }
  Tensor y;
  {
    Tape tape;
    y = sum(x);
  }
  Tape later;
  CHECK_THROWS_WITH(later.backward(y), Contains("was not computed under this tape"));
}

TEST_CASE("a saved tensor that was changed in place is named", "[tape]") {
  const Tensor x = leaf({2}, {1, 2}), w = leaf({2}, {3, 4});
  Tape tape;
  const Tensor y = sum(mul(x, w));
  w.data<float>()[0] = 7;
  w.bump_version();
  CHECK_THROWS_WITH(tape.backward(y),
                    Contains("mul: input 1 [2] was changed in place after the op had saved it (version 0, now 1)"));
  CHECK_FALSE(x.grad());
}

TEST_CASE("a tensor of an enclosing tape is refused, not silently cut off", "[tape]") {
  const Tensor x = leaf({1}, {2});
  Tape outer;
  const Tensor y = x * x;
  Tape inner;
  CHECK_THROWS_WITH(y * y, Contains("made under an enclosing tape"));
  CHECK_NOTHROW(y.detach() * x);
}

TEST_CASE("an op that throws leaves the tape as it was", "[tape]") {
  const Tensor x = leaf({2}, {1, 2});
  Tape tape;
  const Tensor y = x * x;
  CHECK_THROWS_AS(matmul(x, Tensor::zeros({3, 3})), ShapeError);
  CHECK(tape.rows().size() == 2);  // mul, and the row that matmul makes of the vector
  tape.backward(sum(y));
  CHECK(x.grad().to_vector() == Floats{2, 4});
}

TEST_CASE("gradients of half leaves add up in f32", "[tape]") {
  for (const DType d : {DType::bf16, DType::f16}) {
    const Tensor w = Tensor::full({1}, 1, d).set_requires_grad();
    const int uses = d == DType::bf16 ? 512 : 4096;
    Tape tape;
    std::vector<Tensor> parts;
    for (int i = 0; i < uses; ++i) parts.push_back(to(w, DType::f32));
    tape.backward(sum(concat(parts, 0)));
    CHECK(w.grad().dtype() == DType::f32);
    CHECK(w.grad().item() == uses);
  }
}

TEST_CASE("grad of grad", "[tape]") {
  // f = x^3: f' = 3 x^2, f'' = 6 x, f''' = 6
  const std::vector<Tensor> x = {Tensor::from({1}, {2}, DType::f64)};
  const auto f = [](std::span<const Tensor> in) { return in[0] * in[0] * in[0]; };
  const auto df = [&](std::span<const Tensor> in) { return grad(f, in)[0]; };
  const auto ddf = [&](std::span<const Tensor> in) { return grad(df, in)[0]; };
  CHECK(df(x).item() == 12);
  CHECK(ddf(x).item() == 12);
  CHECK(grad(ddf, x)[0].item() == 6);
  CHECK_FALSE(x[0].grad());
}

TEST_CASE("a fused backward refuses a second derivative by name", "[tape]") {
  const std::vector<Tensor> x = {Tensor::from({3}, {1, 2, 3}, DType::f64)};
  const auto f = [](std::span<const Tensor> in) { return gelu(in[0]); };
  const auto df = [&](std::span<const Tensor> in) { return grad(f, in)[0]; };
  CHECK_THROWS_WITH(grad(df, x), Contains("gelu_grad: has no derivative of its own"));
}

TEST_CASE("anomaly mode names the op and the scope of the first non-finite value", "[tape]") {
  const AnomalyMode anomaly;
  const Tensor x = leaf({3}, {1, 0, 2});
  {
    const Scope block("block2"), part("attention");
    CHECK_THROWS_WITH(log(x), Contains("log: first non-finite value: output 0 [3] at [1], in scope block2/attention"));
  }
  Tape tape;
  const Tensor y = sum(sqrt(x));
  CHECK_THROWS_WITH(tape.backward(y), Contains("sqrt_grad") && Contains("in scope backward"));
  CHECK_NOTHROW(log(Tensor::from({1}, {std::numeric_limits<float>::infinity()})));  // the fault is older than the op
}

TEST_CASE("the tape prints as a table and as a graph", "[tape]") {
  const Tensor x = leaf({2, 3}, {1, 2, 3, 4, 5, 6}), w = leaf({4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  Tape tape;
  const Tensor y = relu(linear(x, w));
  CHECK_THAT(tape.table(), Contains("linear") && Contains("f32[2, 3], f32[4, 3]") && Contains("f32[2, 4]"));
  const auto rows = tape.rows();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].bytes_saved == 6 * 4 + 12 * 4);  // x and w
  CHECK(rows[1].bytes_saved == 8 * 4);           // relu keeps its result
  CHECK(rows[1].sources == std::vector<int>{0});
  CHECK_THAT(tape.dot(), Contains("digraph tape") && Contains("n0 -> n1"));
}

TEST_CASE("only what a backward reads is kept alive", "[tape]") {
  const auto counter = std::make_shared<CountingAllocator>();
  const AllocatorScope scope(counter);
  const Tensor x = Tensor::zeros({1000}).set_requires_grad();
  Tape tape;
  const auto before = counter->stats().current;
  Tensor y = x + x;
  for (int i = 0; i < 20; ++i) y = y + x;  // sums read nothing
  CHECK(counter->stats().current - before == 4000);
  y = relu(y);
  y = relu(y);
  CHECK(counter->stats().current - before == 8000);  // the results of the two relus
}

TEST_CASE("leaves report when their gradient is complete, in the order of the way back", "[tape]") {
  const Tensor a = leaf({1}, {2}), b = leaf({1}, {3}), c = leaf({1}, {4});
  Tape tape;
  std::vector<std::uint64_t> order;
  tape.backward(a * b * c + b, [&](const Tensor& t) {
    CHECK(t.grad());
    order.push_back(t.id());
  });
  CHECK(order == std::vector<std::uint64_t>{c.id(), a.id(), b.id()});
  CHECK(b.grad().item() == 9);
}

TEST_CASE("a backward that runs out of memory leaves every gradient as it was", "[tape]") {
  const Tensor x = Tensor::full({64}, 0.5).set_requires_grad(), w = Tensor::full({64, 64}, 0.1).set_requires_grad();
  const auto loss = [&] { return sum(square(relu(matmul(reshape(x, {1, 64}), w)))); };
  {
    Tape tape;
    tape.backward(loss());
  }
  const Floats dx = x.grad().to_vector(), dw = w.grad().to_vector();
  int failures = 0;
  for (int n = 1;; ++n) {
    Tape tape;
    const Tensor y = loss();
    const auto allocator = std::make_shared<FailingAllocator>(n);
    bool failed = false;
    {
      const AllocatorScope scope(allocator);
      try {
        tape.backward(y);
      } catch (const OutOfMemory&) {
        failed = true;
      }
    }
    if (!failed) break;
    ++failures;
    REQUIRE(x.grad().to_vector() == dx);
    REQUIRE(w.grad().to_vector() == dw);
  }
  CHECK(failures >= 4);  // the seed, and a gradient for each op
  CHECK(x.grad().to_vector()[0] == 2 * dx[0]);
}

TEST_CASE("threads record on their own tapes and share the weights", "[tape][threads]") {
  const Tensor w = leaf({2, 2}, {1, 2, 3, 4});
  std::vector<std::thread> threads;
  std::vector<int> right(8, 0);
  for (std::size_t t = 0; t < right.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const Tensor x = Tensor::full({2, 2}, static_cast<double>(t));
        Tape tape;
        const Tensor y = sum(matmul(x, w));
        const auto g = tape.gradients(y, std::vector<Tensor>{w});
        right[t] += g[0].to_vector() == Floats(4, 2.0f * static_cast<float>(t));
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(right == std::vector<int>(8, 200));
}
