// Losses: what the generic tests of every op cannot see.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "reel/autograd/ops.h"
#include "reel/autograd/tape.h"
#include "reel/core/parallel.h"
#include "reel/kernels/loss.h"
#include "reel/kernels/pointwise.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using Catch::Matchers::Contains;

namespace {

using Values = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor f64(const Shape& shape, const Values& v) {
  return Tensor::from(shape, v);
}
Tensor labels(const std::vector<std::int64_t>& v) {
  return Tensor::from({static_cast<std::int64_t>(v.size())}, v);
}

void check_close(const Tensor& got, const Values& want, double tolerance) {
  const Values g = got.to_vector<double>();
  REQUIRE(g.size() == want.size());
  for (std::size_t i = 0; i < g.size(); ++i) {
    INFO("[" << i << "] got " << g[i] << ", expected " << want[i]);
    CHECK(std::fabs(g[i] - want[i]) <= tolerance * (1 + std::fabs(want[i])));
  }
}
/// The sum, and its gradient with respect to `x`.
template <class Fn>
std::pair<SumCount, Tensor> with_gradient(const Fn& fn, const Tensor& x) {
  Tape tape;
  tape.watch(x);
  const SumCount loss = fn();
  return {loss, tape.gradients(loss.sum, std::span(&x, 1))[0]};
}

const Tensor kLogits = f64({4, 3}, {2, -1, 0.5, 0, 3, -2, 1, 1, 1, -1, 0.25, 4});

}  // namespace

// The constants are PyTorch's, in f64.

TEST_CASE("cross_entropy_sum and its gradient have the values of PyTorch", "[loss]") {
  const Tensor y = labels({0, 2, -100, 1});
  const auto [plain, d] = with_gradient([&] { return cross_entropy_sum(kLogits, y); }, kLogits);
  check_close(plain.sum, {9.076103548958418}, 1e-14);
  CHECK(plain.count.item() == 3);
  CHECK(plain.count.dtype() == DType::f64);
  check_close(d,
              {-0.21440296541072412, 0.03911257327068745, 0.1752903921400367, 0.04712341652466415, 0.9464991225528937,
               -0.9936225390775577, 0, 0, 0, 0.006540072572094156, -0.9771729037567018, 0.9706328311846076},
              1e-14);
  const auto [smooth, ds] =
      with_gradient([&] { return cross_entropy_sum(kLogits, y, {.label_smoothing = 0.1}); }, kLogits);
  check_close(smooth.sum, {8.909436882291752}, 1e-14);
  check_close(
      ds,
      {-0.14773629874405747, 0.0057792399373541165, 0.14195705880670337, 0.013790083191330814, 0.9131657892195604,
       -0.9269558724108911, 0, 0, 0, -0.026793260761239175, -0.9105062370900352, 0.9372994978512743},
      1e-14);
}

TEST_CASE("one division by the count gives the gradient of all five examples", "[loss]") {
  const Tensor x = f64({5, 2}, {1, 0, 0, 1, 1, 1, 2, 0, 0, 3}), w = Tensor::zeros({3, 2}, DType::f64),
               y = labels({0, 1, 2, 0, 1});
  for (const std::int64_t size : {5, 4, 3, 1}) {  // micro-batches
    Tensor total = Tensor::zeros({3, 2}, DType::f64);
    double count = 0;
    for (std::int64_t at = 0; at < 5; at += size) {
      const auto [loss, dw] = with_gradient(
          [&] { return cross_entropy_sum(linear(slice(x, 0, at, at + size), w), slice(y, 0, at, at + size)); }, w);
      total = total + dw;
      count += loss.count.item();
    }
    check_close(total / count, {-1.0 / 3, 1.0 / 3, 4.0 / 15, -7.0 / 15, 1.0 / 15, 2.0 / 15}, 1e-15);
  }
}

TEST_CASE("a batch whose labels are all ignored adds nothing and is never NaN", "[loss]") {
  const Tensor x = f64({2, 3}, {std::nan(""), kInf, 1, 2, 3, 4}), y = labels({-100, -100});
  for (const auto& fn : std::vector<std::function<SumCount()>>{
           [&] { return cross_entropy_sum(x, y); }, [&] { return cross_entropy_sum(x, y, {.label_smoothing = 0.5}); },
           [&] { return nll_sum(x, y); }}) {
    const auto [loss, d] = with_gradient(fn, x);
    CHECK(loss.sum.item() == 0);
    CHECK(loss.count.item() == 0);
    CHECK(d.to_vector<double>() == Values(6, 0));
  }
  const SumCount none = cross_entropy_sum(Tensor::zeros({0, 3}), Tensor::zeros({0}, DType::i64));
  CHECK(none.sum.item() == 0);
  CHECK(none.count.item() == 0);
}

TEST_CASE("a label that is no class is an error before anything is written", "[loss]") {
  const Tensor x = Tensor::zeros({3, 4});
  CHECK_THROWS_AS(cross_entropy_sum(x, labels({0, 4, -1})), IndexError);
  CHECK_THROWS_WITH(cross_entropy_sum(x, labels({0, 4, -1})),
                    Contains("cross_entropy") && Contains("row 1") && Contains("label 4") && Contains("classes 4"));
  CHECK_THROWS_WITH(cross_entropy_sum(x, labels({0, 3, -1})), Contains("row 2") && Contains("label -1"));
  CHECK_THROWS_WITH(nll_sum(x, labels({0, 3, 9})), Contains("nll") && Contains("row 2") && Contains("label 9"));
  const Tensor total = Tensor::full({}, 7), count = Tensor::full({}, 7, DType::f64), lse = Tensor::full({3}, 7);
  CHECK_THROWS_AS(kernels::cross_entropy({}, x, labels({0, 1, 4}), total, count, lse, {}), IndexError);
  CHECK(total.item() == 7);
  CHECK(count.item() == 7);
  CHECK(lse.to_vector() == std::vector<float>{7, 7, 7});
  CHECK(cross_entropy_sum(x, labels({0, 1, 4}), {.ignore_index = 4}).count.item() == 2);
}

TEST_CASE("extreme logits give finite losses where the maths is finite", "[loss]") {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = to(f64({4, 3}, {-kInf, 0, 0, 30000, -30000, 0, -kInf, -kInf, 2, 1, -kInf, 1}), dtype);
    const auto [loss, d] = with_gradient([&] { return cross_entropy_sum(x, labels({1, 0, 2, 0})); }, x);
    check_close(loss.sum, {2 * std::log(2.0)}, 1e-6);
    check_close(d, {0, -0.5, 0.5, 0, 0, 0, 0, 0, 0, -0.5, 0, 0.5}, 1e-6);
    const auto [infinite, g] = with_gradient(
        [&] {
          return cross_entropy_sum(x, labels({0, 0, 2, 0}));
        },
        x);  // of probability 0
    CHECK(infinite.sum.item() == kInf);
    check_close(slice(g, 0, 0, 1), {-1, 0.5, 0.5}, 1e-6);
  }
  const Tensor nan = f64({1, 3}, {0, std::nan(""), 1});
  CHECK(std::isnan(cross_entropy_sum(nan, labels({0})).sum.item()));
}

TEST_CASE("half logits are summed in f32", "[loss]") {
  const std::int64_t n = 300, c = 4096;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Tensor x = Tensor::zeros({n, c}, dtype);
    const auto [loss, d] = with_gradient([&] { return cross_entropy_sum(x, Tensor::zeros({n}, DType::i64)); }, x);
    CHECK(loss.sum.dtype() == DType::f32);
    check_close(loss.sum, {300 * std::log(4096.0)}, 1e-6);
    check_close(
        slice(d, 0, 0, 1),
        [] {
          Values v(4096, 1.0 / 4096);
          v[0] -= 1;
          return v;
        }(),
        0x1p-9);
    const Tensor far = Tensor::full({70000}, 300, dtype);  // 90000 is beyond f16
    check_close(mse_sum(far, Tensor::zeros({70000}, dtype)).sum, {70000.0 * 90000.0}, 1e-6);
  }
}

TEST_CASE("cross entropy of images is that of their pixels, in both layouts", "[loss]") {
  Generator g(1);
  const Tensor x = normal({2, 5, 3, 4}, g), y = random_integers({2, 3, 4}, g, 0, 5);
  const Tensor rows = contiguous(reshape(permute(x, {0, 2, 3, 1}), {24, 5}));
  const auto [flat, d_flat] = with_gradient([&] { return cross_entropy_sum(rows, reshape(y, {24})); }, rows);
  for (const Layout layout : {Layout::row_major, Layout::channels_last}) {
    Tensor image = Tensor::empty(Meta(x.shape(), x.dtype(), layout));
    kernels::copy({}, x, image);
    const auto [loss, d] = with_gradient([&] { return cross_entropy_sum(image, y); }, image);
    CHECK(loss.sum.item() == flat.sum.item());
    CHECK(d.layout() == layout);
    CHECK(permute(d, {0, 2, 3, 1}).to_vector() == d_flat.to_vector());
  }
}

TEST_CASE("losses of probabilities have the values of PyTorch, also at the ends", "[loss]") {
  const Tensor t = f64({4}, {1, 0, 0.5, 1});
  const Tensor p = f64({4}, {0, 1, 0.25, 0.9});
  const auto [loss, d] = with_gradient([&] { return bce_sum(p, t); }, p);
  check_close(loss.sum, {200.94234873244366}, 1e-14);
  check_close(slice(d, 0, 2, 4), {-4.0 / 3, -10.0 / 9}, 1e-14);
  for (const double v : d.to_vector<double>()) CHECK(std::isfinite(v));
  const Tensor x = f64({4}, {-1000, 1000, 0.5, -2});
  const auto [logits, dx] = with_gradient([&] { return bce_with_logits_sum(x, t); }, x);
  check_close(logits.sum, {2002.851004995223}, 1e-14);
  check_close(dx, {-1, 1, 0.1224593312018546, -0.8807970779778824}, 1e-14);
  const auto [same, dt] = with_gradient([&] { return bce_with_logits_sum(x, t); }, t);  // a soft target may be learnt
  check_close(dt, {1000, -1000, -0.5, 2}, 1e-14);
}

TEST_CASE("smooth_l1 joins the two other losses", "[loss]") {
  const Tensor x = f64({3}, {0.5, 2, -3}), t = f64({3}, {0, 0, 0});
  CHECK(smooth_l1_sum(x, t, 0).sum.item() == l1_sum(x, t).sum.item());
  check_close(smooth_l1_sum(x, t, 10).sum, {mse_sum(x, t).sum.item() / 20}, 1e-15);
  const auto [loss, d] = with_gradient([&] { return smooth_l1_sum(x, t); }, x);
  CHECK(loss.sum.item() == 0.125 + 1.5 + 2.5);
  CHECK(d.to_vector<double>() == Values{0.5, 1, -1});
  CHECK_THROWS_WITH(smooth_l1_sum(x, t, -1), Contains("smooth_l1") && Contains("beta") && Contains("-1"));
}

TEST_CASE("losses name what does not fit", "[loss]") {
  const Tensor x = Tensor::zeros({4, 1}), t = Tensor::zeros({4});
  CHECK_THROWS_AS(mse_sum(x, t), ShapeError);
  CHECK_THROWS_WITH(mse_sum(x, t), Contains("mse") && Contains("input [4, 1]") && Contains("target [4]"));
  CHECK_THROWS_WITH(mse_sum(x, Tensor::zeros({4, 1}, DType::f64)), Contains("input f32") && Contains("target f64"));
  CHECK_THROWS_WITH(cross_entropy_sum(x, Tensor::zeros({3}, DType::i64)),
                    Contains("logits [4, 1]") && Contains("labels [3]") && Contains("must be [4]"));
  CHECK_THROWS_AS(cross_entropy_sum(x, Tensor::zeros({4})), DTypeError);
  CHECK_THROWS_AS(cross_entropy_sum(t, Tensor::zeros({4}, DType::i64)), ShapeError);
  CHECK_THROWS_AS(cross_entropy_sum(x, Tensor::zeros({4}, DType::i64), {.label_smoothing = 1.5}), ValueError);
  CHECK_THROWS_AS(cross_entropy_sum(Tensor::zeros({4, 2}, DType::i32), Tensor::zeros({4}, DType::i64)), DTypeError);
}

TEST_CASE("the count has no gradient and does not disturb that of the sum", "[loss]") {
  const Tensor x = f64({2, 2}, {1, 2, 3, 4}), y = labels({0, 1});
  Tape tape;
  tape.watch(x);
  const SumCount loss = cross_entropy_sum(x, y);
  const Tensor d = tape.gradients(loss.sum / loss.count, std::span(&x, 1))[0];
  const auto [again, whole] = with_gradient([&] { return cross_entropy_sum(x, y); }, x);
  check_close(d, (whole * 0.5).to_vector<double>(), 1e-15);
}

TEST_CASE("losses give the same bits on any number of threads", "[loss]") {
  Generator g(2);
  const Tensor x = normal({3000, 37}, g), y = random_integers({3000}, g, 0, 37), t = normal({3000, 37}, g);
  const auto run = [&] {
    std::vector<float> all;
    for (const auto& fn :
         std::vector<std::function<SumCount()>>{[&] { return cross_entropy_sum(x, y, {.label_smoothing = 0.1}); },
                                                [&] { return nll_sum(x, y); }, [&] { return mse_sum(x, t); }}) {
      const auto [loss, d] = with_gradient(fn, x);
      const std::vector<float> v = d.to_vector();
      all.push_back(static_cast<float>(loss.sum.item()));
      all.insert(all.end(), v.begin(), v.end());
    }
    return all;
  };
  const int threads = num_threads();
  set_num_threads(1);
  const auto one = run();
  set_num_threads(2);
  const auto two = run();
  set_num_threads(threads);
  REQUIRE(one.size() == two.size());
  CHECK(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)) == 0);
}
