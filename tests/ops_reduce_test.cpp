// Reductions, scans, extremes and softmax: what the generic tests of every op cannot see.
#include <cstring>
#include <limits>

#include "reel/autograd/ops.h"
#include "reel/autograd/tape.h"
#include "reel/core/parallel.h"
#include "reel/core/rng.h"
#include "reel/core/view.h"
#include "reel/tests/support/catch.h"

using namespace reel;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();
using Values = std::vector<double>;

Tensor f64(const Shape& shape, const Values& v) {
  return Tensor::from(shape, v);
}
Values all(const Tensor& t) {
  return t.to_vector<double>();
}

/// Gradient of the sum of fn(x).
template <class Fn>
Tensor gradient(const Tensor& x, Fn fn) {
  Tape tape;
  tape.watch(x);
  return tape.gradients(fn(x), std::span(&x, 1))[0];
}
/// Gradient of the sum of the squares of fn's gradient: a second derivative.
template <class Fn>
Tensor second_gradient(const Tensor& x, Fn fn) {
  Tape tape;
  tape.watch(x);
  const Tensor g = tape.gradients(fn(x), std::span(&x, 1), true)[0];
  return tape.gradients(sum(square(g)), std::span(&x, 1))[0];
}
/// The same by central differences of the first derivative.
template <class Fn>
Values numeric_second(const Tensor& x, Fn fn) {
  Values result;
  const double h = 1e-5;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    double f[2];
    for (const int side : {0, 1}) {
      Values v = all(x);
      v[static_cast<std::size_t>(i)] += side ? h : -h;
      f[side] = sum(square(gradient(f64(x.shape(), v), fn))).item();
    }
    result.push_back((f[1] - f[0]) / (2 * h));
  }
  return result;
}
void require_close(const Values& got, const Values& want, double bound) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i << ": got " << got[i] << ", expected " << want[i]);
    CHECK(std::fabs(got[i] - want[i]) <= bound);
  }
}
template <class E, class Fn>
void require_message(const Fn& fn, const std::string& text) {
  try {
    fn();
    FAIL("nothing was thrown, but \"" << text << "\" was expected");
  } catch (const E& e) {
    INFO(e.what());
    CHECK(std::string(e.what()).find(text) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("reductions: errors name the op and both values") {
  const Tensor x = Tensor::zeros({2, 3}), i = Tensor::zeros({2, 3}, DType::i64);
  require_message<IndexError>([&] { (void)sum(x, {2}); }, "sum: dimension 2 is out of range for shape [2, 3]");
  require_message<IndexError>([&] { (void)mean(x, {1, -1}); }, "mean: dimension -1 appears twice in dims [1, -1]");
  require_message<DTypeError>([&] { (void)mean(i); }, "mean: needs a floating dtype, but input is i64");
  require_message<DTypeError>([&] { (void)var(i); }, "var: needs a floating dtype, but input is i64");
  require_message<DTypeError>([&] { (void)softmax(i, 1); }, "softmax: needs a floating dtype");
  require_message<IndexError>([&] { (void)log_softmax(x, -3); },
                              "log_softmax: dimension -3 is out of range for shape [2, 3]");
  require_message<ShapeError>([&] { (void)sum_to(x, {2}); }, "sum_to: shape [2, 3] is no broadcast of [2]");
  require_message<ShapeError>([&] { (void)max(Tensor::zeros({0, 3})); }, "max: nothing to choose from: shape [0, 3]");
  require_message<ShapeError>(
      [&] {
        (void)argmin(Tensor::zeros({2, 0}), 1);
      },
      "argmin: nothing to choose from: dimension 1 of shape [2, 0] is empty");
  require_message<ValueError>([&] { (void)topk(x, 4, 1); },
                              "topk: k is out of range: k 4, dimension 1 of shape [2, 3] has 3");
}

TEST_CASE("sum: integers and bool give i64, which wraps around") {
  CHECK(sum(Tensor::full({300}, 200, DType::u8)).item() == 60000);
  CHECK(sum(Tensor::full({5}, 1, DType::boolean)).dtype() == DType::i64);
  CHECK(prod(Tensor::full({40}, 2, DType::i32), 0).to_vector<std::int64_t>()[0] == std::int64_t{1} << 40);
  CHECK(cumsum(Tensor::full({3}, 1, DType::boolean), 0).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{1, 2, 3});
}

TEST_CASE("sum: empty sums, and the error grows with the logarithm of the count") {
  CHECK(all(sum(Tensor::zeros({2, 0}), {1})) == Values{0, 0});
  CHECK(std::isnan(mean(Tensor::zeros({0})).item()));
  // One after the other, 2^22 times 0.1f ends 4 % off. Blocks of 1024 in four chains, halves, and
  // at most 128 pieces bound the error by (256 + 12 + 128) u, whatever the compiler makes of a
  // block.
  const std::int64_t n = 1 << 22;
  const double exact = static_cast<double>(n) * static_cast<double>(0.1f), bound = 396 * 0x1p-24;
  CHECK(sum(Tensor::full({n}, 0.1)).item() == Approx(exact).epsilon(bound));
  for (const double y : all(sum(Tensor::full({n / 4, 4}, 0.1), {0}))) CHECK(y == Approx(exact / 4).epsilon(bound));
}

TEST_CASE("mean: f16 of many ones is one") {
  CHECK(mean(Tensor::full({70000}, 1, DType::f16)).item() == 1);
  CHECK(all(mean(Tensor::full({70000, 3}, 1, DType::f16), {0})) == Values{1, 1, 1});
}

TEST_CASE("sum_to: is the adjoint of broadcasting") {
  const Tensor x = Tensor::full({2, 3, 4}, 1);
  CHECK(all(sum_to(x, {4})) == Values{6, 6, 6, 6});
  CHECK(sum_to(x, {1, 3, 1}).shape() == Shape{1, 3, 1});
  CHECK(all(sum_to(x, {3, 1})) == Values{8, 8, 8});
  CHECK(sum_to(x, {3, 1}).shape() == Shape{3, 1});
  CHECK(sum_to(x, {}).item() == 24);
  CHECK(sum_to(x, {2, 3, 4}).id() == x.id());
}

TEST_CASE("var: two passes, and NaN where the divisor is not positive") {
  // Values around 1e8: the textbook formula E[x^2] - E[x]^2 loses everything.
  CHECK(var(f64({4}, {1e8 + 4, 1e8 + 7, 1e8 + 13, 1e8 + 16})).item() == 30);
  CHECK(std::isnan(var(Tensor::zeros({1})).item()));
  CHECK(var(Tensor::zeros({1}), {}, false, 0).item() == 0);
  CHECK(std::isnan(gradient(f64({1}, {3}), [](const Tensor& x) { return var(x); }).item()));
  Generator g(3);
  const Tensor x = uniform({3, 5}, g, -1, 1, DType::f64);
  const auto f = [](const Tensor& t) { return sum(square(var(t, {1}))); };
  require_close(all(second_gradient(x, f)), numeric_second(x, f), 1e-8);
}

TEST_CASE("norm: neither overflows nor vanishes on the way") {
  CHECK(norm(Tensor::full({100}, 1e20)).item() == Approx(1e21).epsilon(1e-6));
  CHECK(norm(Tensor::full({100}, 1e-30)).item() == Approx(1e-29).epsilon(1e-6));
  CHECK(norm(f64({4}, {1e200, 1e200, 1e200, 1e200})).item() == Approx(2e200).epsilon(1e-14));
  CHECK(norm(f64({4}, {3e-320, 0, 0, 4e-320})).item() == Approx(5e-320).epsilon(1e-3));
  CHECK(norm(Tensor::full({25}, 1000, DType::f16)).item() == 5000);
  CHECK(norm(f64({2}, {kInf, 1})).item() == kInf);
  CHECK(std::isnan(norm(f64({3}, {1, kNan, kInf})).item()));
  CHECK(norm(Tensor::zeros({0})).item() == 0);
}
TEST_CASE("norm: the gradient at zero is zero") {
  const auto f = [](const Tensor& x) { return sum(norm(x, {1})); };
  require_close(all(gradient(f64({2, 2}, {0, 0, 3, -4}), f)), {0, 0, 0.6, -0.8}, 1e-15);
  const Tensor x = f64({2, 3}, {1, 2, -2, 0.5, 0.25, 1});
  require_close(all(second_gradient(x, f)), numeric_second(x, f), 1e-8);
}

TEST_CASE("prod: gradient with no zero, one and two, and its shape") {
  const auto f = [](const Tensor& x) { return sum(prod(x, 0)); };
  CHECK(all(gradient(f64({3}, {2, 3, 4}), f)) == Values{12, 8, 6});
  CHECK(all(gradient(f64({3}, {2, 0, 4}), f)) == Values{0, 8, 0});
  CHECK(all(gradient(f64({3}, {0, 0, 4}), f)) == Values{0, 0, 0});
  const Tensor one = gradient(f64({1}, {0}), f);
  CHECK(one.shape() == Shape{1});
  CHECK(one.item() == 1);
  require_message<GradError>(
      [&] {
        (void)second_gradient(f64({2}, {1, 2}), f);
      },
      "prod_grad: has no derivative of its own");
}

TEST_CASE("cumsum: gradient of an empty scan has its shape") {
  const Tensor g = gradient(Tensor::zeros({2, 0}, DType::f64), [](const Tensor& x) { return sum(cumsum(x, -1)); });
  CHECK(g.shape() == Shape{2, 0});
  CHECK(all(cumsum(f64({3}, {1, 2, 4}), 0, true)) == Values{7, 6, 4});
}

TEST_CASE("extremes: NaN wins, ties give the lowest index") {
  const Tensor x = f64({3, 4}, {1, 5, 5, 2, -1, kNan, 7, kNan, -kInf, -kInf, -kInf, -kInf});
  CHECK(max(x, 1).indices.to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 1, 0});
  CHECK(min(x, 1).indices.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 0});
  CHECK(std::isnan(all(max(x, 1).values)[1]));
  CHECK(argmax(x, 1, true).shape() == Shape{3, 1});
  CHECK(argmin(f64({3}, {0.0, -0.0, 1}), 0).item() == 0);  // zeros of either sign are equal
  CHECK(std::isnan(max(x).item()));
  CHECK(std::isnan(min(x).item()));
  CHECK(max(f64({2}, {-kInf, -3})).item() == -3);
  CHECK(min(Tensor::from({4}, std::vector<std::int64_t>{3, std::numeric_limits<std::int64_t>::min(), 0, 9})).item() ==
        -0x1p63);
  CHECK(max(Tensor::from({3}, std::vector<std::uint8_t>{7, 255, 9})).item() == 255);
  const Tensor long_row = Tensor::zeros({1000});
  long_row.data<float>()[777] = long_row.data<float>()[900] = 2;
  CHECK(argmax(long_row, 0).item() == 777);
}
TEST_CASE("extremes: the gradient goes to the winner, and is shared over all by ties") {
  const auto along = [](const Tensor& x) { return sum(max(x, 1).values); };
  CHECK(all(gradient(f64({2, 3}, {1, 4, 4, 9, 2, 3}), along)) == Values{0, 1, 0, 1, 0, 0});
  const auto over_all = [](const Tensor& x) { return max(x); };
  CHECK(all(gradient(f64({4}, {1, 4, 4, 2}), over_all)) == Values{0, 0.5, 0.5, 0});
  CHECK(all(gradient(f64({3}, {1, kNan, 4}), over_all)) == Values{0, 1, 0});
  // 70000 ties: the count does not fit into f16, its reciprocal does.
  const Tensor g = gradient(Tensor::full({70000}, 1, DType::f16), over_all);
  CHECK(all(g) == Values(70000, static_cast<double>(static_cast<float>(Half(1.0f / 70000)))));
  CHECK(all(g)[0] == Approx(1.430511e-5));
}

TEST_CASE("topk: order, ties, NaN and gradient") {
  const Tensor x = f64({2, 5}, {1, 2, 6, 4, 5, 9, 5, 6, 7, 8});
  CHECK(all(topk(x, 2).values) == Values{6, 5, 9, 8});
  CHECK(topk(x, 2).indices.to_vector<std::int64_t>() == std::vector<std::int64_t>{2, 4, 0, 4});
  CHECK(all(gradient(x, [](const Tensor& t) { return sum(topk(t, 2).values); })) ==
        Values{0, 0, 1, 0, 1, 1, 0, 0, 0, 1});
  const Tensor y = f64({5}, {3, kNan, 3, 1, 1});
  CHECK(topk(y, 3).indices.to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 0, 2});
  CHECK(topk(y, 5, -1, false).indices.to_vector<std::int64_t>() == std::vector<std::int64_t>{3, 4, 0, 2, 1});
}

TEST_CASE("softmax: infinities, NaN and huge numbers") {
  const Tensor x = f64({5, 2}, {-kInf, 0, -kInf, -kInf, kNan, 1, -kInf, kNan, 1e4, 1e4});
  for (const DType d : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Values y = all(softmax(to(x, d), 1));
    CHECK((y[0] == 0 && y[1] == 1 && y[2] == 0 && y[3] == 0 && y[8] == 0.5 && y[9] == 0.5));
    CHECK((std::isnan(y[4]) && std::isnan(y[5]) && std::isnan(y[6]) && std::isnan(y[7])));
    const Values z = all(log_softmax(to(x, d), 1));
    CHECK((z[0] == -kInf && z[1] == 0 && z[2] == -kInf && z[3] == -kInf && std::isnan(z[4]) && std::isnan(z[7])));
  }
  const Tensor hidden = f64({2, 2}, {-kInf, -kInf, 0, 0});
  CHECK(all(gradient(hidden, [](const Tensor& t) { return sum(slice(softmax(t, 1), 1, 0, 1)); })) ==
        Values{0, 0, 0.25, -0.25});
  const Values g = all(gradient(hidden, [](const Tensor& t) { return sum(slice(log_softmax(t, 1), 1, 0, 1)); }));
  CHECK(g == Values{0, 0, 0.5, -0.5});
  const auto total = [](const Tensor& t) { return sum(softmax(t, 0)); };
  CHECK(all(gradient(Tensor::from({3}, {-1047, -981, 1891}), total)) == Values{0, 0, 0});
  Values wide(200, -kInf);  // the path for long rows
  CHECK(all(softmax(f64({1, 200}, wide), 1)) == Values(200, 0));
  wide[199] = 5;
  CHECK(all(softmax(to(f64({1, 200}, wide), DType::f32), 1))[199] == 1);
}
TEST_CASE("softmax: rows of a slice sum to one") {
  Generator g(5);
  const Tensor x = uniform({4, 4}, g);
  for (const double s : all(sum(softmax(slice(x, 1, 0, 2), 1), {1}))) CHECK(s == Approx(1).epsilon(1e-6));
}
TEST_CASE("softmax: second derivatives") {
  Generator g(6);
  const Tensor x = uniform({2, 4}, g, -1, 1, DType::f64);
  for (const int dim : {0, 1}) {
    const auto f = [dim](const Tensor& t) { return sum(square(softmax(t, dim))); };
    require_close(all(second_gradient(x, f)), numeric_second(x, f), 1e-8);
    const auto l = [dim](const Tensor& t) { return sum(square(log_softmax(t, dim))); };
    require_close(all(second_gradient(x, l)), numeric_second(x, l), 1e-7);
    const auto e = [dim](const Tensor& t) { return sum(square(logsumexp(t, dim))); };
    require_close(all(second_gradient(x, e)), numeric_second(x, e), 1e-7);
  }
}

TEST_CASE("logsumexp: infinities and huge numbers") {
  const Tensor x = f64({5, 2}, {-kInf, -kInf, 1000, 1000, kInf, 3, kNan, kInf, -kInf, 2});
  const Values y = all(logsumexp(x, 1));
  CHECK((y[0] == -kInf && y[2] == kInf && std::isnan(y[3]) && y[4] == 2));
  CHECK(y[1] == Approx(1000.69314718056));
  CHECK(all(gradient(f64({1, 2}, {-kInf, -kInf}), [](const Tensor& t) { return sum(logsumexp(t, 1)); })) ==
        Values{0, 0});
}

TEST_CASE("reductions: the same bits for any number of threads") {
  Generator g(9);
  const Tensor tall = uniform({50000, 10}, g, -1, 1), wide = uniform({8, 90000}, g, -1, 1);
  const Tensor image = view::permute(uniform({16, 30, 40, 12}, g, -1, 1), {0, 3, 1, 2});
  const std::vector<std::function<Tensor()>> calls = {
      [&] { return sum(tall); },           [&] { return sum(tall, {0}); },     [&] { return sum(tall, {1}); },
      [&] { return sum(wide, {1}); },      [&] { return sum(wide, {0}); },     [&] { return sum(image, {0, 2, 3}); },
      [&] { return var(image, {1, 2}); },  [&] { return norm(wide); },         [&] { return max(tall); },
      [&] { return softmax(wide, 1); },    [&] { return softmax(tall, 0); },   [&] { return cumsum(tall, 0); },
      [&] { return max(tall, 1).values; }, [&] { return logsumexp(tall, 1); }, [&] { return topk(tall, 3).values; }};
  const int before = num_threads();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    INFO("call " << i);
    set_num_threads(1);
    const Tensor one = calls[i]();
    set_num_threads(2);
    const Tensor two = calls[i]();
    CHECK(std::memcmp(one.raw(), two.raw(), static_cast<std::size_t>(one.meta().bytes())) == 0);
  }
  set_num_threads(before);
}
