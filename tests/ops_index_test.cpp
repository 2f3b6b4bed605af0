// Indexing and dropout: what the generic tests of every op cannot see.
#include <cmath>
#include <cstring>
#include <limits>

#include "reel/autograd/ops.h"
#include "reel/autograd/tape.h"
#include "reel/core/parallel.h"
#include "reel/kernels/index.h"
#include "reel/kernels/pointwise.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using Catch::Matchers::Contains;

namespace {

using Floats = std::vector<float>;

Tensor index(const Shape& shape, const std::vector<std::int64_t>& v) {
  return Tensor::from(shape, v);
}
Tensor in_layout(const Tensor& t, Layout layout) {
  Tensor r = Tensor::empty(Meta(t.shape(), t.dtype(), layout));
  kernels::copy({}, t, r);
  return r;
}
/// Whether fn gives the same bits on one thread and on two.
template <class Fn>
bool same_bits(const Fn& fn) {
  const int threads = num_threads();
  set_num_threads(1);
  const Tensor one = fn();
  set_num_threads(2);
  const Tensor two = fn();
  set_num_threads(threads);
  return std::memcmp(one.raw(), two.raw(), static_cast<std::size_t>(one.meta().bytes())) == 0;
}

}  // namespace

TEST_CASE("gather and scatter_add have the values of PyTorch", "[index]") {
  const Tensor x = reshape(Tensor::arange(12), {3, 4});
  CHECK(gather(x, 1, index({2, 2}, {3, 0, 1, 1})).to_vector() == Floats{3, 0, 5, 5});
  const Tensor y = reshape(Tensor::arange(10) + 1.0, {2, 5});
  CHECK(scatter_add(Tensor::zeros({3, 5}), 0, index({2, 5}, {0, 1, 2, 0, 0, 2, 0, 0, 1, 2}), y).to_vector() ==
        Floats{1, 7, 8, 4, 5, 0, 2, 0, 9, 0, 6, 0, 3, 0, 10});
  CHECK(gather(x, -2, index({1, 4}, {2, 1, 0, 2})).to_vector() == Floats{8, 5, 2, 11});
}

TEST_CASE("many uses of one row add up beyond what the half type can count", "[index]") {
  for (const auto& [dtype, uses] : {std::pair{DType::bf16, 512}, std::pair{DType::f16, 4096}}) {
    const Tensor weight = Tensor::zeros({3, 2}, dtype).set_requires_grad(), all = Tensor::full({uses}, 1, DType::i64);
    Tape tape;
    tape.backward(sum(to(embedding(weight, all), DType::f32)));
    CHECK(weight.grad().to_vector() == Floats{0, 0, static_cast<float>(uses), static_cast<float>(uses), 0, 0});
    const Tensor ones = Tensor::full({uses}, 1, dtype), zeros = Tensor::zeros({3}, dtype);
    CHECK(index_add(zeros, 0, all, ones).to_vector() == Floats{0, static_cast<float>(uses), 0});
    CHECK(scatter_add(zeros, 0, all, ones).to_vector() == Floats{0, static_cast<float>(uses), 0});
  }
}

TEST_CASE("an index out of range is an error before anything is written", "[index]") {
  const Tensor w = Tensor::zeros({5, 2}), x = Tensor::zeros({2, 3});
  CHECK_THROWS_AS(embedding(w, index({2, 2}, {0, 1, 7, 9})), IndexError);
  CHECK_THROWS_WITH(embedding(w, index({2, 2}, {0, 1, 7, 9})),
                    Contains("embedding") && Contains("index 7") && Contains("position [1, 0]") && Contains("size 5"));
  CHECK_THROWS_WITH(embedding(w, index({1}, {-1})), Contains("index -1") && Contains("size 5"));
  CHECK_THROWS_WITH(index_select(x, 1, index({2}, {2, 3})),
                    Contains("index_select") && Contains("index 3") && Contains("position [1]"));
  CHECK_THROWS_WITH(index_add(x, 1, index({1}, {-2}), Tensor::zeros({2, 1})),
                    Contains("index_add") && Contains("index -2"));
  CHECK_THROWS_WITH(gather(x, 0, index({1, 2}, {0, 2})),
                    Contains("gather") && Contains("index 2") && Contains("position [0, 1]") && Contains("size 2"));
  CHECK_THROWS_WITH(scatter_add(x, 0, index({1, 2}, {0, 2}), Tensor::zeros({1, 2})),
                    Contains("scatter_add") && Contains("size 2"));
  const Tensor out = Tensor::full({2}, 7);
  CHECK_THROWS_AS(kernels::index_select({}, "index_select", Tensor::zeros({4}), 0, index({2}, {0, 4}), out),
                  IndexError);
  CHECK(out.to_vector() == Floats{7, 7});
}

TEST_CASE("indexing names what does not fit", "[index]") {
  const Tensor x = Tensor::zeros({2, 3}), i = index({2}, {0, 1});
  CHECK_THROWS_AS(embedding(x, Tensor::zeros({2})), DTypeError);
  CHECK_THROWS_WITH(embedding(Tensor::zeros({4}), i), Contains("weight") && Contains("[4]"));
  CHECK_THROWS_AS(index_select(x, 2, i), IndexError);
  CHECK_THROWS_WITH(index_add(x, 1, i, Tensor::zeros({2, 3})), Contains("y [2, 3]") && Contains("must be [2, 2]"));
  CHECK_THROWS_WITH(gather(x, 0, i), Contains("indices [2]") && Contains("x [2, 3]"));
  CHECK_THROWS_WITH(gather(x, 0, index({1, 4}, {0, 0, 0, 0})),
                    Contains("dimension 1") && Contains("indices [1, 4]") && Contains("x [2, 3]"));
  CHECK_THROWS_WITH(scatter_add(x, 0, index({2, 2}, {0, 0, 0, 0}), Tensor::zeros({1, 2})),
                    Contains("y [1, 2]") && Contains("indices [2, 2]"));
  CHECK_THROWS_AS(index_add(Tensor::zeros({2}, DType::boolean), 0, i, Tensor::zeros({2}, DType::boolean)), DTypeError);
}

TEST_CASE("selections keep every dtype", "[index]") {
  const Tensor i = index({3}, {2, 0, 2});
  for (const DType dtype : {DType::boolean, DType::u8, DType::i32, DType::i64}) {
    const Tensor x = Tensor::from<std::int64_t>({3}, std::vector<std::int64_t>{0, 1, 1}, dtype);
    CHECK(index_select(x, 0, i).dtype() == dtype);
    CHECK(index_select(x, 0, i).to_vector() == Floats{1, 0, 1});
    CHECK(gather(x, 0, i).to_vector() == Floats{1, 0, 1});
  }
  const Tensor counts = index_add(Tensor::zeros({3}, DType::i64), 0, i, Tensor::full({3}, 1, DType::i64));
  CHECK(counts.to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 0, 2});
}

TEST_CASE("additions promote mixed dtypes, and each gradient has the dtype of its tensor", "[index]") {
  const Tensor x = Tensor::zeros({2}).set_requires_grad(), i = index({2}, {1, 1});
  const Tensor y = Tensor::full({2}, 1.5, DType::f16).set_requires_grad();
  CHECK(index_add(x, 0, i, y).dtype() == DType::f32);
  CHECK(scatter_add(y, 0, i, x).dtype() == DType::f32);
  Tape tape;
  const Tensor z = index_add(x, 0, i, y) + scatter_add(x, 0, i, y);
  CHECK(z.to_vector() == Floats{0, 6});
  tape.backward(sum(z));
  CHECK(x.grad().to_vector() == Floats{2, 2});
  CHECK(y.grad().to_vector() == Floats{2, 2});
}

TEST_CASE("indexing gives the same bits on any number of threads", "[index]") {
  Generator g(1);
  const Tensor i = random_integers({20000}, g, 0, 700), y = normal({20000, 8}, g), x = normal({700, 8}, g);
  const Tensor at = random_integers({4000, 8}, g, 0, 700);
  CHECK(same_bits([&] { return index_add(x, 0, i, y); }));
  CHECK(same_bits([&] { return index_add(to(x, DType::bf16), 0, i, to(y, DType::bf16)); }));
  CHECK(same_bits([&] { return scatter_add(x, 0, at, y); }));
  CHECK(same_bits([&] { return gather(x, 0, at); }));
  CHECK(same_bits([&] {
    Tape tape;
    tape.watch(x);
    return tape.gradients(sum(embedding(x, i) * y), std::span(&x, 1))[0];
  }));
}

TEST_CASE("dropout keeps the right part, scales it, and moves the generator", "[dropout]") {
  Generator g(7, 3);
  const Tensor x = Tensor::full({100, 1001}, 2);
  const Floats y = dropout(x, 0.25, g).to_vector();
  CHECK(g.position() == 3 + (100 * 1001 + 3) / 4);
  double kept = 0;
  for (const float v : y) {
    REQUIRE((v == 0 || v == 2 / 0.75f));
    kept += v != 0;
  }
  CHECK(std::fabs(kept / 100100 - 0.75) < 0.006);  // four standard deviations
  CHECK(dropout(x, 0.25, g).to_vector() != y);
  Generator again(7, 3);
  CHECK(dropout(x, 0.25, again).to_vector() == y);
}

TEST_CASE("dropout with p of 0 is the identity, with p of 1 it is zero", "[dropout]") {
  Generator g(1);
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::from({5}, {1, -2, inf, std::nanf(""), 5});
  const Floats y = dropout(x, 0, g).to_vector();
  CHECK(std::memcmp(y.data(), x.raw(), sizeof(float) * 5) == 0);
  CHECK(dropout(x, 1, g).to_vector() == Floats(5, 0));
  const std::uint64_t position = g.position();
  for (const double p : {-0.1, 1.1, std::nan("")}) CHECK_THROWS_AS(dropout(x, p, g), ValueError);
  CHECK_THROWS_WITH(dropout(x, 1.5, g), Contains("dropout") && Contains("1.5"));
  CHECK(g.position() == position);
}

TEST_CASE("the dropout mask depends on neither layout, strides nor threads, and backward has the same", "[dropout]") {
  const Shape shape{2, 3, 4, 4};
  Generator values(2);
  const Tensor x = uniform(shape, values, 1, 2);
  const auto run = [&](const Tensor& t) {
    Generator g(9);
    return dropout(t, 0.5, g);
  };
  const Floats y = run(x).to_vector();
  const Tensor last = in_layout(x, Layout::channels_last);
  CHECK(run(last).to_vector() == y);
  CHECK(run(last).layout() == Layout::channels_last);
  CHECK(run(permute(contiguous(permute(x, {3, 1, 0, 2})), {2, 1, 3, 0})).to_vector() == y);
  for (const Tensor& t : {x, last}) {
    Tape tape;
    tape.watch(t);
    const Floats d = tape.gradients(run(t), std::span(&t, 1))[0].to_vector();
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(d[i] == (y[i] != 0 ? 2.0f : 0.0f));
  }
  Generator more(3);
  const Tensor large = uniform({300, 333}, more, 1, 2);
  CHECK(same_bits([&] { return run(large); }));
}
