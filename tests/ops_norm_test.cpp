// Normalisations: what the generic tests of every op cannot see.
#include <cmath>
#include <cstring>

#include "reel/autograd/ops.h"
#include "reel/autograd/tape.h"
#include "reel/core/parallel.h"
#include "reel/kernels/pointwise.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using Catch::Matchers::Contains;

namespace {

using Values = std::vector<double>;

Values all(const Tensor& t) {
  return t.to_vector<double>();
}
void check_close(const Tensor& got, const Values& want, double tolerance) {
  const Values g = got.to_vector<double>();
  REQUIRE(g.size() == want.size());
  double worst = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    REQUIRE(std::isfinite(g[i]));
    worst = std::max(worst, std::fabs(g[i] - want[i]) / (1 + std::fabs(want[i])));
  }
  CHECK(worst <= tolerance);
}
/// sin(1), sin(2), ... or the cosines
Tensor waves(const Shape& shape, bool cosine = false) {
  Tensor t = Tensor::empty(shape, DType::f64);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const auto a = static_cast<double>(i + 1);
    t.data<double>()[i] = cosine ? std::cos(a) : std::sin(a);
  }
  return t;
}
Tensor f64(std::initializer_list<double> v) {
  return Tensor::from({static_cast<std::int64_t>(v.size())}, Values(v));
}
Tensor in_layout(const Tensor& t, Layout layout) {
  Tensor r = Tensor::empty(Meta(t.shape(), t.dtype(), layout));
  kernels::copy({}, t, r);
  return r;
}

/// Gradients of sum(dy * fn(inputs)).
template <class Fn>
std::vector<Tensor> gradients(const Fn& fn, const std::vector<Tensor>& inputs, const Tensor& dy) {
  Tape tape;
  for (const Tensor& t : inputs) tape.watch(t);
  return tape.gradients(sum(fn() * dy), inputs);
}

/// dx, dweight and dbias of layer norm over rows of n elements, in double.
std::vector<Values> naive_layer_norm_grad(
    const Values& x, const Values& w, const Values& dy, std::size_t n, double eps) {
  std::vector<Values> d{Values(x.size()), Values(n), Values(n)};
  for (std::size_t r = 0; r < x.size(); r += n) {
    double mean = 0, var = 0, g = 0, gx = 0;
    for (std::size_t i = 0; i < n; ++i) mean += x[r + i] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i) var += (x[r + i] - mean) * (x[r + i] - mean) / static_cast<double>(n);
    const double s = 1 / std::sqrt(var + eps);
    for (std::size_t i = 0; i < n; ++i) {
      const double xhat = (x[r + i] - mean) * s;
      d[1][i] += dy[r + i] * xhat;
      d[2][i] += dy[r + i];
      g += dy[r + i] * w[i] / static_cast<double>(n);
      gx += dy[r + i] * w[i] * xhat / static_cast<double>(n);
    }
    for (std::size_t i = 0; i < n; ++i) d[0][r + i] = s * (dy[r + i] * w[i] - g - (x[r + i] - mean) * s * gx);
  }
  return d;
}
void check_layer_norm_grad(const Shape& shape, int dims) {
  Generator g(1);
  const Shape row(std::span(shape.end() - dims, shape.end()));
  const Tensor x = normal(shape, g), w = normal(row, g), b = normal(row, g), dy = normal(shape, g);
  const auto d = gradients([&] { return layer_norm(x, w, b); }, {x, w, b}, dy);
  const auto want = naive_layer_norm_grad(all(x), all(w), all(dy), static_cast<std::size_t>(numel(row)), 1e-5);
  INFO("x " << shape << ", rows of " << row);
  CHECK(d[1].shape() == row);
  CHECK(d[2].shape() == row);
  for (std::size_t i = 0; i < 3; ++i) check_close(d[i], want[i], 1e-4);
}

/// Whether fn gives the same bits on one thread and on two.
template <class Fn>
bool same_bits(const Fn& fn) {
  const int threads = num_threads();
  set_num_threads(1);
  const std::vector<Tensor> one = fn();
  set_num_threads(2);
  const std::vector<Tensor> two = fn();
  set_num_threads(threads);
  bool same = one.size() == two.size();
  for (std::size_t i = 0; same && i < one.size(); ++i)
    same = std::memcmp(one[i].raw(), two[i].raw(), static_cast<std::size_t>(one[i].meta().bytes())) == 0;
  return same;
}

}  // namespace

// The constants below are PyTorch's, in f64.

TEST_CASE("layer_norm and its gradients have the values of PyTorch", "[norm]") {
  const Tensor x = waves({2, 3}), w = f64({1.5, -0.5, 2}), b = f64({0.1, 0.2, 0.3}), dy = waves({2, 3}, true);
  check_close(layer_norm(x, w, b),
              {1.0107476146562244, -0.20124320889084613, -2.5193029884383513, -0.3830705581530842, 0.7157326307089462,
               3.00702460037323},
              1e-14);
  const auto d = gradients([&] { return layer_norm(x, w, b); }, {x, w, b}, dy);
  check_close(d[0],
              {1.2459711233061386, -1.13558529354472, -0.11038582976141953, -3.2215470295306323, 2.2627339001233935,
               0.958813129407238},
              1e-13);
  check_close(d[1], {0.5385566833509694, -0.6265398744150972, 2.6951466953535683}, 1e-14);
  check_close(d[2], {-0.11334131499547218, -0.13248465108391616, -0.029822209950079448}, 1e-14);
}

TEST_CASE("rms_norm and its gradients have the values of PyTorch", "[norm]") {
  const Tensor x = waves({2, 3}), w = f64({1.5, -0.5, 2}), dy = waves({2, 3}, true);
  check_close(rms_norm(x, w),
              {1.7532826628240374, -0.6315351103749731, 0.3920487938795879, -1.5690420413335568, 0.6626971196712566,
               -0.7723981996930265},
              1e-14);
  const auto d = gradients([&] { return rms_norm(x, w); }, {x, w}, dy);
  check_close(d[0],
              {0.6809063520127994, -0.19169473497270761, -2.824927725014807, -1.1277250100645761, 0.09215224510229686,
               2.7382059341124614},
              1e-13);
  check_close(d[1], {1.3152646578313059, -0.9015869032342585, -0.5648795825247632}, 1e-14);
}

TEST_CASE("group_norm and its gradients have the values of PyTorch", "[norm]") {
  const Tensor x = waves({1, 4, 2}), w = f64({1.5, -0.5, 2, 1}), b = f64({0.1, 0.2, 0.3, 0.4}),
               dy = waves({1, 4, 2}, true);
  check_close(group_norm(x, 2, w, b),
              {1.3451548286201342, 1.4965883895692127, 0.3061642032905398, 0.9744168694392427, -2.458622637232227,
               -0.6917613285350273, 1.1215374852344688, 1.5536544976491584},
              1e-14);
  const auto d = gradients([&] { return group_norm(x, 2, w, b); }, {x, w, b}, dy);
  check_close(d[0],
              {0.991742778904067, -1.1241612987867982, 0.32060378761896124, -0.1881852677362303, -0.8778259792305241,
               1.2713565102748197, 0.2924804722875034, -0.6860110033317985},
              1e-13);
  check_close(d[1], {0.06104945652574069, 1.2225888225266566, -0.8673883426269234, 0.3761119683000533}, 1e-14);
  check_close(d[2], {0.12415546932099736, -1.6436361174640575, 1.2438324721135923, 0.6084022205346911}, 1e-14);
}

TEST_CASE("batch_norm_train and its gradients have the values of PyTorch", "[norm]") {
  const Tensor x = waves({2, 3, 2}), w = f64({1.5, -0.5, 2}), b = f64({0.1, 0.2, 0.3}), dy = waves({2, 3, 2}, true);
  const BatchNormResult r = batch_norm_train(x, w, b);
  check_close(r.y,
              {0.004619665883725273, 0.8332395870196666, -0.1422067333347206, 0.7945611636086237, -1.4667193137079926,
               3.06008250255698, -2.249183318679204, 1.8113240657758074, -0.4249289867501063, 0.5725745564762033,
               -1.7402953755545367, 1.346932186705549},
              1e-14);
  const auto d = gradients([&] { return batch_norm_train(x, w, b).y; }, {x, w, b}, dy);
  check_close(d[0],
              {4.055659491948957, -4.955758873399181, 0.07378106469005553, -0.07489124627128955, 0.629418579400735,
               -0.562357431269006, -0.6060736753579195, 1.5061730568081386, -0.06952634936040544, 0.07063653094163914,
               -0.8864270722482763, 0.8193659241165467},
              1e-13);
  check_close(d[1], {-1.5844812388484502, -0.4138519900819617, 1.5117129425848082}, 1e-14);
  check_close(d[2], {0.7325576898556885, -3.393837908425187, 2.092112128834135}, 1e-14);
}

TEST_CASE("layer_norm gradients are whole for any width and many rows", "[norm]") {
  for (const std::int64_t c : {1, 31, 33, 63, 65, 1000}) check_layer_norm_grad({67, c}, 1);
  check_layer_norm_grad({2051, 6, 129},
                        2);  // several pieces of rows; a normalised shape of two dimensions
  check_layer_norm_grad({3, 5, 4, 6}, 3);
  check_layer_norm_grad({2, 5000}, 1);  // a row longer than one block of the sums
}

TEST_CASE("statistics do not suffer from a large mean", "[norm]") {
  Generator g(2);
  Tensor x = normal({4, 6, 5, 7}, g, 0, 1, DType::f64) + 10000.0;
  x = to(x, DType::f32);
  const Tensor exact = to(x, DType::f64);
  const auto near = [](const Tensor& a, const Tensor& b) {
    check_close(a, b.to_vector<double>(), 2e-3);
  };  // half an ulp of the mean
  near(layer_norm(x, {}, {}), layer_norm(exact, {}, {}));
  for (const Layout layout : {Layout::row_major, Layout::channels_last}) {
    const Tensor y = in_layout(x, layout);
    near(group_norm(y, 3, {}, {}), group_norm(exact, 3, {}, {}));
    const BatchNormResult a = batch_norm_train(y, {}, {}), b = batch_norm_train(exact, {}, {});
    near(a.y, b.y);
    check_close(a.var, b.var.to_vector<double>(), 1e-5);
  }
}

TEST_CASE("a constant row normalises to the bias, with finite gradients", "[norm]") {
  const Tensor x = Tensor::full({3, 1000}, 0.1), w = Tensor::full({1000}, 2), b = Tensor::full({1000}, 0.25);
  for (const float v : layer_norm(x, w, b).to_vector()) REQUIRE(v == 0.25f);
  const auto d = gradients([&] { return layer_norm(x, w, b); }, {x, w, b}, Tensor::full({3, 1000}, 1));
  check_close(d[0], Values(3000, 0), 1e-3);
  const Tensor image = in_layout(Tensor::full({2, 3, 4, 4}, 0.1), Layout::channels_last);
  for (const float v : batch_norm_train(image, {}, {}).y.to_vector()) REQUIRE(v == 0.0f);
}

TEST_CASE("half inputs take f32 weights", "[norm]") {
  Generator g(3);
  const Tensor x = normal({4, 6}, g, 0, 1, DType::f16), w = normal({6}, g), b = normal({6}, g);
  const Tensor y = layer_norm(x, w, b);
  CHECK(y.dtype() == DType::f16);
  check_close(y, layer_norm(to(x, DType::f32), w, b).to_vector<double>(), 0x1p-10);
  const auto d = gradients([&] { return layer_norm(x, w, b); }, {x, w, b}, Tensor::full({4, 6}, 1, DType::f16));
  for (const Tensor& t : d) CHECK(t.dtype() == DType::f32);  // gradients of half leaves are kept in f32
  const BatchNormResult r = batch_norm_train(x, w, b);
  CHECK(r.y.dtype() == DType::f16);
  CHECK(r.mean.dtype() == DType::f32);
  CHECK(batch_norm_eval(x, r.mean, r.var, w, b).dtype() == DType::f16);
  // 300^2 and the sum over many rows leave the range of f16.
  const Tensor large = Tensor::full({8, 512}, 300, DType::f16);
  for (const float v : rms_norm(large, {}).to_vector()) REQUIRE(v == 1.0f);
}

TEST_CASE("batch_norm and group_norm give one result for both layouts, and keep the layout", "[norm]") {
  Generator g(4);
  for (const std::int64_t c : {1, 3, 16, 64, 70}) {
    const Tensor x = normal({3, c, 9, 8}, g), w = normal({c}, g), b = normal({c}, g), dy = normal({3, c, 9, 8}, g);
    const Tensor last = in_layout(x, Layout::channels_last), dy_last = in_layout(dy, Layout::channels_last);
    const auto compare = [&](const auto& fn) {
      const Tensor y = fn(x), y_last = fn(last);
      if (c > 1) CHECK(y_last.layout() == Layout::channels_last);
      check_close(y_last, all(y), 1e-5);
      const auto d = gradients([&] { return fn(x); }, {x, w, b}, dy),
                 d_last = gradients([&] { return fn(last); }, {last, w, b}, dy_last);
      for (std::size_t i = 0; i < 3; ++i) check_close(d_last[i], all(d[i]), 1e-4);
    };
    compare([&](const Tensor& t) { return batch_norm_train(t, w, b).y; });
    compare([&](const Tensor& t) { return group_norm(t, c % 4 == 0 ? 4 : 1, w, b); });
  }
}

TEST_CASE("batch_norm_eval uses the given statistics", "[norm]") {
  const Tensor x = Tensor::from({2, 2}, {1, 2, 3, 4}), mean = Tensor::from({2}, {1, -1}),
               var = Tensor::from({2}, {3, 8});
  check_close(batch_norm_eval(x, mean, var, Tensor::from({2}, {2, 3}), Tensor::from({2}, {0, 1}), 1), {0, 4, 2, 6},
              1e-6);
  CHECK_THROWS_WITH(batch_norm_eval(x, mean, {}, {}, {}), Contains("batch_norm_eval") && Contains("mean and var"));
}

TEST_CASE("batch_norm_train refuses one value in a channel, and takes none", "[norm]") {
  CHECK_THROWS_AS(batch_norm_train(Tensor::zeros({1, 4, 1, 1}), {}, {}), ValueError);
  CHECK_THROWS_WITH(batch_norm_train(Tensor::zeros({1, 4, 1, 1}), {}, {}),
                    Contains("[1, 4, 1, 1]") && Contains("batch_norm_eval"));
  const BatchNormResult r = batch_norm_train(Tensor::zeros({0, 3, 2, 2}), {}, {});
  CHECK(r.y.shape() == Shape{0, 3, 2, 2});
  CHECK(r.mean.to_vector() == std::vector<float>{0, 0, 0});
  CHECK(r.var.to_vector() == std::vector<float>{0, 0, 0});
}

TEST_CASE("the batch's mean and var have no gradient, and say so", "[norm]") {
  const Tensor x = waves({4, 3}).set_requires_grad();
  Tape tape;
  CHECK_THROWS_WITH(tape.backward(sum(batch_norm_train(x, {}, {}).mean)),
                    Contains("batch_norm") && Contains("detach()"));
  CHECK(!x.grad());
}

TEST_CASE("a second derivative of a fused normalisation is refused by name", "[norm]") {
  const Tensor x = waves({2, 4});
  for (const bool layer : {true, false}) {
    Tape tape;
    tape.watch(x);
    const Tensor y = sum(square(layer ? layer_norm(x, {}, {}) : group_norm(x, 2, {}, {})));
    const Tensor dx = tape.gradients(y, std::span(&x, 1), true)[0];
    CHECK_THROWS_WITH(tape.gradients(sum(square(dx)), std::span(&x, 1)),
                      Contains(layer ? "layer_norm_grad" : "group_norm_grad") && Contains("second derivative"));
  }
}

TEST_CASE("normalisations name what does not fit", "[norm]") {
  const Tensor x = Tensor::zeros({2, 4}), w = Tensor::zeros({3}), image = Tensor::zeros({2, 6, 3});
  CHECK_THROWS_AS(layer_norm(x, w, {}), ShapeError);
  CHECK_THROWS_WITH(layer_norm(x, w, {}), Contains("layer_norm") && Contains("weight [3]") && Contains("x [2, 4]"));
  CHECK_THROWS_WITH(layer_norm(x, {}, {}, 1e-5, 3), Contains("last 3 dimensions") && Contains("[2, 4]"));
  CHECK_THROWS_AS(layer_norm(x, {}, {}, -1), ValueError);
  CHECK_THROWS_AS(layer_norm(x, {}, {}, std::nan("")), ValueError);
  CHECK_THROWS_AS(layer_norm(Tensor::zeros({2, 4}, DType::i32), {}, {}), DTypeError);
  CHECK_THROWS_WITH(layer_norm(x, Tensor::zeros({4}, DType::f16), {}), Contains("weight f16") && Contains("x f32"));
  CHECK_THROWS_WITH(rms_norm(x, w), Contains("rms_norm") && Contains("weight [3]"));
  CHECK_THROWS_AS(group_norm(image, 4, {}, {}), ValueError);
  CHECK_THROWS_WITH(group_norm(image, 4, {}, {}), Contains("channels 6") && Contains("groups 4"));
  CHECK_THROWS_WITH(group_norm(Tensor::zeros({5}), 1, {}, {}), Contains("[n, c, ...]") && Contains("[5]"));
  CHECK_THROWS_WITH(batch_norm_train(image, w, {}),
                    Contains("weight [3]") && Contains("x [2, 6, 3]") && Contains("It must be [6]"));
}

TEST_CASE("normalisations give the same bits on any number of threads", "[norm]") {
  Generator g(5);
  const Tensor x = normal({700, 100}, g), w = normal({100}, g), b = normal({100}, g), dy = normal({700, 100}, g);
  const Tensor image = normal({6, 12, 40, 40}, g), dimage = normal({6, 12, 40, 40}, g), wc = normal({12}, g),
               bc = normal({12}, g);
  CHECK(same_bits([&] { return gradients([&] { return layer_norm(x, w, b); }, {x, w, b}, dy); }));
  CHECK(same_bits([&] { return gradients([&] { return rms_norm(x, w); }, {x, w}, dy); }));
  for (const Layout layout : {Layout::row_major, Layout::channels_last}) {
    const Tensor in = in_layout(image, layout);
    CHECK(same_bits([&] {
      const BatchNormResult r = batch_norm_train(in, wc, bc);
      return std::vector<Tensor>{r.y, r.mean, r.var, group_norm(in, 3, wc, bc)};
    }));
    CHECK(same_bits([&] { return gradients([&] { return batch_norm_train(in, wc, bc).y; }, {in, wc, bc}, dimage); }));
    CHECK(same_bits([&] { return gradients([&] { return group_norm(in, 3, wc, bc); }, {in, wc, bc}, dimage); }));
  }
}
