// Convolution and pooling: what the generic tests of every op cannot see.
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "reel/autograd/ops/conv.h"
#include "reel/autograd/ops/pool.h"
#include "reel/autograd/tape.h"
#include "reel/core/parallel.h"
#include "reel/core/view.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using Catch::Matchers::Contains;

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
Values all_but_first(const Tensor& t, std::size_t n) {
  const Values v = all(t);
  return {v.begin() + static_cast<std::ptrdiff_t>(n), v.end()};
}
void require_close(const Values& got, const Values& want, double bound = 1e-12) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i << ": got " << got[i] << ", expected " << want[i]);
    CHECK(std::fabs(got[i] - want[i]) <= bound);
  }
}
/// Gradients of the sum of dy * fn() with respect to `inputs`.
template <class Fn>
std::vector<Tensor> gradients(const std::vector<Tensor>& inputs, const Fn& fn, const Tensor& dy = {}) {
  Tape tape;
  for (const Tensor& t : inputs) tape.watch(t);
  const Tensor y = fn();
  return tape.gradients(sum(dy ? mul(y, dy) : y), inputs);
}

}  // namespace

TEST_CASE("conv2d: values and gradients of a small case") {
  Tensor x = Tensor::empty({1, 2, 4, 4}, DType::f64), w = Tensor::empty({2, 2, 3, 3}, DType::f64);
  for (int i = 0; i < 32; ++i) x.data<double>()[i] = (i + 1) / 10.0;
  for (int i = 0; i < 36; ++i) w.data<double>()[i] = (i - 17) / 10.0;
  const Tensor b = f64({2}, {0.5, -1});
  const auto options = Conv2dOptions::same(2, 1);
  Tensor y;
  const auto g = gradients({x, w, b}, [&] { return y = square(conv2d(x, w, b, options)); });
  const Values expected{-2.34, -5.66, -10.99, -20.53, 12.72, 20.92, 25.31, 39.53};
  require_close(all(conv2d(x, w, b, options)), expected);
  const Values dx = all(g[0]), dw = all(g[1]);
  require_close({dx.begin(), dx.begin() + 8}, {18.804, 53.464, 35.636, 38.688, 70.324, 194.712, 126.3, 133.152}, 1e-9);
  require_close({dw.begin(), dw.begin() + 6}, {-24.636, -39.732, -46.036, -43.324, -68.812, -76.716}, 1e-9);
  require_close(all(g[2]), {-79.04, 196.96}, 1e-9);
  require_close(all(conv2d(to(x, DType::f32), to(w, DType::f32), to(b, DType::f32), options)), expected, 1e-5);
}

TEST_CASE("conv2d: a weight that is a view counts by its strides") {
  for (const DType t : {DType::f64, DType::f32}) {
    const Tensor s = reshape(Tensor::arange(144, t), {3, 3, 4, 4});
    const Tensor w = slice(slice(s, 2, 0, 4, 2), 3, 0, 4, 2), x = Tensor::full({1, 3, 2, 2}, 1, t);
    REQUIRE_FALSE(w.is_contiguous());
    CHECK(all(conv2d(x, w)) == Values{252, 828, 1404});
    CHECK(all(conv2d(x, contiguous(w))) == Values{252, 828, 1404});
  }
}

TEST_CASE("conv2d: elements that no window reaches have a gradient of zero") {
  for (const DType t : {DType::f64, DType::f32}) {
    const Tensor x = reshape(Tensor::arange(1603, t), {1, 1, 1, 1603}), w = Tensor::from({1, 1, 1, 4}, {1, 2, 3, 4}, t);
    Tensor y;
    const auto g = gradients({x}, [&] { return y = conv2d(x, w, {}, {1, 4, 0, 0, 1, 1, 1}); });
    CHECK(y.shape() == Shape{1, 1, 1, 400});
    CHECK(all(y)[399] == 15980);
    CHECK(g[0].shape() == x.shape());
    CHECK(all_but_first(g[0], 1598) == Values{3, 4, 0, 0, 0});
  }
}

TEST_CASE("conv_transpose2d: a kernel smaller than the stride") {
  const Tensor x = f64({1, 1, 1, 2}, {1, 3}), w = f64({1, 1, 1, 1}, {-2}), dy = f64({1, 1, 1, 3}, {1.5, 0, 0.7});
  const auto g = gradients(
      {x, w},
      [&] {
        return conv_transpose2d(x, w, {}, {1, 2, 0, 0, 1, 1, 1});
      },
      dy);
  require_close(all(g[0]), {-3, -1.4});
  require_close(all(g[1]), {3.6});
}

TEST_CASE("conv2d: stride, padding and dilation together") {
  const Tensor x = f64({2, 1, 1, 2}, {7, 3, 3, 2}), w = f64({2, 1, 1, 2}, {3, 6, 4, 2});
  Tensor y;
  const auto g = gradients({x, w}, [&] { return y = conv2d(x, w, {}, {1, 2, 0, 1, 1, 2, 1}); });
  CHECK(all(y) == Values{18, 6, 12, 4});
  CHECK(all(g[0]) == Values{0, 8, 0, 8});
  CHECK(all(g[1]) == Values{0, 5, 0, 5});
}

TEST_CASE("conv_transpose2d: values with a bias and output padding") {
  Tensor x = Tensor::arange(8, DType::f64) + 1.0, w = (Tensor::arange(36, DType::f64) + 1.0) * 0.1;
  const Tensor b = f64({2}, {1, 2});
  const Tensor y =
      conv_transpose2d(reshape(x, {1, 2, 2, 2}), reshape(w, {2, 2, 3, 3}), b, Conv2dOptions::same(2, 1), 1, 1);
  CHECK(y.shape() == Shape{1, 2, 4, 4});
  require_close(all_but_first(y, 16),
                {19.4, 41.2, 24, 24.8, 44.8, 96.4, 54, 56, 28.6, 59.6, 33.2, 34.4, 31.6, 66.2, 36.8, 38}, 1e-10);
  const auto g = gradients({b}, [&] {
    return conv_transpose2d(reshape(x, {1, 2, 2, 2}), reshape(w, {2, 2, 3, 3}), b, Conv2dOptions::same(2, 1), 1, 1);
  });
  CHECK(all(g[0]) == Values{16, 16});
}

TEST_CASE("conv2d: results lie channels-last, gradients of weights row-major") {
  Generator g(1);
  const Tensor x = normal({2, 3, 5, 5}, g), w = normal({4, 3, 3, 3}, g);
  CHECK(conv2d(x, w).layout() == Layout::channels_last);
  const auto d = gradients({x, w}, [&] { return square(conv2d(x, w)); });
  CHECK(d[0].layout() == Layout::channels_last);
  CHECK(d[1].layout() == Layout::row_major);
}

TEST_CASE("conv2d: an empty batch") {
  const Tensor x = Tensor::zeros({0, 2, 5, 5}), w = Tensor::full({3, 2, 3, 3}, 1), b = Tensor::full({3}, 1);
  Tensor y;
  const auto g = gradients({x, w, b}, [&] { return y = conv2d(x, w, b); });
  CHECK(y.shape() == Shape{0, 3, 3, 3});
  CHECK(g[0].shape() == x.shape());
  CHECK(all(g[1]) == Values(54, 0));
  CHECK(all(g[2]) == Values(3, 0));
}

TEST_CASE("conv2d: a tensor without channels") {
  const Tensor x = Tensor::zeros({2, 0, 3, 3}), w = Tensor::zeros({2, 0, 2, 2}), b = Tensor::from({2}, {1, 2});
  CHECK(all(conv2d(x, w, b)) == Values{1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2});
  CHECK(all(conv_transpose2d(Tensor::zeros({1, 0, 2, 2}), Tensor::zeros({0, 1, 2, 2}))) == Values(9, 0));
}

TEST_CASE("conv2d: gradients of gradients") {
  Generator gen(3);
  const Conv2dOptions options{2, 1, 1, 2, 1, 2, 2};
  const Tensor x = normal({2, 4, 5, 6}, gen, 0, 1, DType::f64), w = normal({4, 2, 3, 2}, gen, 0, 1, DType::f64);
  const Tensor rx = normal(x.shape(), gen, 0, 1, DType::f64), rw = normal(w.shape(), gen, 0, 1, DType::f64);
  // L = the sum of y^3; p = <rx, dL/dx> + <rw, dL/dw> is a scalar that uses all three ops.
  const auto first = [&](const Tensor& a, const Tensor& b, bool twice, std::vector<Tensor>* second) {
    Tape tape;
    const std::vector<Tensor> in{a, b};
    for (const Tensor& t : in) tape.watch(t);
    const Tensor y = conv2d(a, b, {}, options);
    const auto g = tape.gradients(sum(y * y * y), in, twice);
    const Tensor p = sum(g[0] * rx) + sum(g[1] * rw);
    if (twice) *second = tape.gradients(p, in);
    return p.item();
  };
  std::vector<Tensor> second;
  first(x, w, true, &second);
  for (const int which : {0, 1}) {
    const Tensor& t = which ? w : x;
    for (std::int64_t i = 0; i < t.numel(); i += 7) {
      double p[2];
      for (const int side : {0, 1}) {
        const Tensor moved = clone(t);
        moved.data<double>()[i] += side ? 1e-5 : -1e-5;
        p[side] = which ? first(x, moved, false, nullptr) : first(moved, w, false, nullptr);
      }
      const double numeric = (p[1] - p[0]) / 2e-5,
                   got = all(second[static_cast<std::size_t>(which)])[static_cast<std::size_t>(i)];
      INFO("input " << which << ", element " << i << ": got " << got << ", expected " << numeric);
      CHECK(std::fabs(got - numeric) <= 1e-5 * (1 + std::fabs(numeric)));
    }
  }
}

TEST_CASE("conv2d: f32 equals f64 on sizes that are cut into chunks") {
  Generator gen(4);
  struct Case {
    Shape x, w;
    Conv2dOptions o;
  };
  const std::vector<Case> cases{{{37, 3, 20, 21}, {17, 3, 3, 3}, Conv2dOptions::same(1, 1)},
                                {{9, 16, 28, 28}, {32, 8, 5, 5}, Conv2dOptions::same(2, 2, 1, 2)},
                                {{33, 1, 28, 28}, {32, 1, 3, 3}, Conv2dOptions::same(1, 1)},
                                {{3, 24, 40, 40}, {24, 1, 3, 3}, Conv2dOptions::same(1, 1, 1, 24)},
                                {{17, 32, 14, 14}, {64, 32, 3, 3}, Conv2dOptions::same(1, 1)}};
  for (const Case& c : cases) {
    INFO("x " << c.x << ", weight " << c.w);
    const Tensor x = normal(c.x, gen), w = normal(c.w, gen), b = normal({c.w[0]}, gen);
    const auto run = [&](DType t) {
      const Tensor a = to(x, t), k = to(w, t), v = to(b, t);
      Tensor y;
      auto g = gradients({a, k, v}, [&] { return (y = conv2d(a, k, v, c.o)) * 0.5; });
      g.push_back(y);
      return g;
    };
    const auto wide = run(DType::f64), single = run(DType::f32);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      const Values e = all(wide[i]), got = all(single[i]);
      double worst = 0, size = 0;
      for (std::size_t k = 0; k < e.size(); ++k) {
        worst = std::max(worst, std::fabs(e[k] - got[k]));
        size = std::max(size, std::fabs(e[k]));
      }
      CHECK(worst <= 3e-5 * size);
    }
  }
}

TEST_CASE("convolution and pooling: the same bits for any number of threads, and on any pool") {
  Generator gen(5);
  const Tensor x = normal({37, 8, 20, 20}, gen), w = normal({24, 8, 3, 3}, gen), b = normal({24}, gen);
  const Tensor dy = normal({37, 24, 10, 10}, gen);
  const auto run = [&](DType t) {
    const Tensor a = to(x, t), k = to(w, t), v = to(b, t), d = to(dy, t);
    std::vector<Tensor> results;
    for (const auto& pool : {Pool2dOptions::square(2, 2), Pool2dOptions::square(3, 2, 1)}) {
      Tensor y;
      const auto fn = [&] {
        const Tensor z = conv2d(a, k, v, Conv2dOptions::same(1, 1));
        return y = max_pool2d(z, pool) + avg_pool2d(z, pool);
      };
      const auto g = gradients({a, k, v}, fn, d);
      results.insert(results.end(), g.begin(), g.end());
      results.push_back(y);
    }
    return results;
  };
  const auto same = [](const std::vector<Tensor>& p, const std::vector<Tensor>& q) {
    for (std::size_t i = 0; i < p.size(); ++i)
      if (std::memcmp(p[i].raw(), q[i].raw(), static_cast<std::size_t>(p[i].meta().bytes())) != 0) return false;
    return true;
  };
  const int before = num_threads();
  for (const DType t : {DType::f32, DType::f64, DType::f16}) {
    set_num_threads(1);
    const auto one = run(t);
    set_num_threads(2);
    CHECK(same(one, run(t)));
    set_num_threads(5);
    CHECK(same(one, run(t)));
    set_parallel_runner([](void*, std::int64_t chunks, void (*body)(void*, std::int64_t), void* context) {
      std::thread other([&] {
        for (std::int64_t i = chunks - 1; i >= 0; i -= 2) body(context, i);
      });
      for (std::int64_t i = chunks - 2; i >= 0; i -= 2) body(context, i);
      other.join();
    });
    CHECK(same(one, run(t)));
    set_parallel_runner(nullptr);
  }
  set_num_threads(before);
}

TEST_CASE("convolution: errors name the op and both values") {
  const auto zeros = [](const Shape& s) { return Tensor::zeros(s); };
  const Tensor x = zeros({2, 3, 5, 5});
  CHECK_THROWS_WITH(conv2d(x, zeros({4, 2, 3, 3})),
                    Contains("conv2d: channels differ: x [2, 3, 5, 5] has 3, weight [4, 2, 3, 3] takes 2"));
  CHECK_THROWS_WITH(conv2d(x, zeros({4, 3, 3, 7})),
                    Contains("conv2d: kernel is larger than the padded input: kernel [3, 7] with "
                             "its dilation, input [5, 5]"));
  CHECK_THROWS_AS(conv2d(x, zeros({4, 3, 3, 3}), {}, Conv2dOptions::same(1, 0, 3)), ShapeError);
  CHECK_THROWS_WITH(conv2d(zeros({3, 5, 5}), zeros({4, 3, 3, 3})),
                    Contains("x needs 4 dimensions, but its shape is [3, 5, 5]"));
  CHECK_THROWS_WITH(conv2d(x, zeros({4, 3, 3, 3}), zeros({3})), Contains("bias [3], weight [4, 3, 3, 3]"));
  CHECK_THROWS_WITH(conv2d(x, Tensor::zeros({4, 3, 3, 3}, DType::f64)), Contains("dtypes differ: x f32, weight f64"));
  CHECK_THROWS_AS(conv2d(Tensor::zeros({1, 1, 2, 2}, DType::i64), Tensor::zeros({1, 1, 1, 1}, DType::i64)), DTypeError);
  CHECK_THROWS_WITH(conv2d(zeros({1, 4, 5, 5}), zeros({3, 2, 3, 3}), {}, Conv2dOptions::same(1, 0, 1, 2)),
                    Contains("groups do not divide the output channels: channels 3, groups 2"));
  CHECK_THROWS_WITH(conv2d(x, zeros({4, 3, 3, 3}), {}, Conv2dOptions::same(0, 0)),
                    Contains("stride must be positive, but is [0, 0]"));
  CHECK_THROWS_WITH(conv2d(x, zeros({4, 3, 3, 3}), {}, Conv2dOptions::same(1, -1)),
                    Contains("padding must not be negative, but is [-1, -1]"));
  CHECK_THROWS_AS(conv2d(x, zeros({4, 3, 3, 3}), {}, Conv2dOptions::same(1, 0, 0)), ValueError);
  CHECK_THROWS_AS(conv2d(x, zeros({4, 3, 3, 3}), {}, Conv2dOptions::same(1, 0, 1, 0)), ValueError);
  CHECK_THROWS_AS(conv2d(x, zeros({4, 3, 0, 3})), ValueError);
  CHECK_THROWS_WITH(conv_transpose2d(x, zeros({3, 1, 2, 2}), {}, Conv2dOptions::same(2, 0), 2, 0),
                    Contains("output padding [2, 0], stride [2, 2]"));
  CHECK_THROWS_WITH(conv_transpose2d(x, zeros({4, 1, 2, 2})),
                    Contains("x [2, 3, 5, 5] has 3, weight [4, 1, 2, 2] takes 4"));
  CHECK_THROWS_WITH(conv_transpose2d(zeros({1, 1, 1, 1}), zeros({1, 1, 2, 2}), {}, Conv2dOptions::same(1, 1)),
                    Contains("the output would be empty: output [1, 1, 0, 0]"));
  CHECK_THROWS_WITH(apply(ConvTranspose2d({}, 9, 9), {x, zeros({3, 1, 2, 2})}),
                    Contains("output [2, 1, 9, 9], whose convolution has size [8, 8]"));
  CHECK_THROWS_WITH(apply(Conv2dWeightGrad({}, 2, 2), {x, zeros({2, 4, 3, 3})}),
                    Contains("dy [2, 4, 3, 3], x [2, 3, 5, 5]"));
}

TEST_CASE("conv2d: the cost counts two flops for each product") {
  const Meta x({2, 4, 5, 6}, DType::f32), w({6, 2, 3, 3}, DType::f32);
  const Meta* in[] = {&x, &w};
  const Conv2d op(Conv2dOptions::same(1, 1, 1, 2));
  OutMetas out;
  op.infer(in, out);
  CHECK(op.cost(in, std::span(out.m, 1)).flops == 2.0 * 2 * 6 * 5 * 6 * 2 * 9);
}

TEST_CASE("max_pool2d: NaN wins, the first of equals gets the gradient, padding never counts") {
  for (const Layout layout : {Layout::row_major, Layout::channels_last}) {
    for (const auto& options : {Pool2dOptions::square(2, 2), Pool2dOptions{2, 2, 2, 2, 0, 1}}) {
      const bool padded = options.padding_w == 1;  // windows of columns {0}, {1, 2}, {3}: the left one hangs over
      const Values rows{-kInf, -5, -3, -3, -kInf, -4, -3, kNan};
      const Tensor plain = f64({1, 1, 2, 4}, rows), x = Tensor::empty(Meta({1, 8, 2, 4}, DType::f64, layout));
      for (std::int64_t c = 0; c < 8; ++c)
        for (std::int64_t i = 0; i < 8; ++i)
          x.data<double>()[c * x.strides()[1] + i / 4 * x.strides()[2] + i % 4 * x.strides()[3]] =
              rows[static_cast<std::size_t>(i)];
      Tensor y;
      const auto g = gradients({x}, [&] { return y = max_pool2d(x, options); });
      CHECK(y.layout() == layout);
      for (std::int64_t c = 0; c < 8; ++c) {
        const Values v = all(select(select(y, 0, 0), 0, c)), d = all(select(select(g[0], 0, 0), 0, c));
        if (padded) {
          CHECK((v[0] == -kInf && v[1] == -3 && std::isnan(v[2])));
          CHECK(d == Values{1, 0, 1, 0, 0, 0, 0, 1});
        } else {
          CHECK((v[0] == -4 && std::isnan(v[1])));
          CHECK(d == Values{0, 0, 0, 0, 0, 1, 0, 1});
        }
      }
    }
  }
  const Tensor two = f64({1, 1, 2, 2}, {kNan, 1, kNan, 2}), tie = f64({1, 1, 2, 2}, {1, 3, 3, 3}),
               low = f64({1, 1, 2, 2}, {-kInf, -kInf, -kInf, -kInf});
  const auto pool = [](const Tensor& t) { return max_pool2d(t, {}); };
  CHECK(all(gradients({two}, [&] { return pool(two); })[0]) == Values{1, 0, 0, 0});
  CHECK(all(gradients({tie}, [&] { return pool(tie); })[0]) == Values{0, 1, 0, 0});
  CHECK(all(gradients({low}, [&] { return pool(low); })[0]) == Values{1, 0, 0, 0});
  CHECK(all(pool(low)) == Values{-kInf});
}

TEST_CASE("max_pool2d: gradients of windows that overlap add up in f32") {
  const Tensor x = Tensor::zeros({1, 1, 3, 66}, DType::f16);
  x.data<Half>()[66 + 32] = Half(1.0f);  // the middle of the middle row: all 33 windows of the row hold it
  const Tensor dy = Tensor::full({1, 1, 3, 33}, 1 + 0x1p-10, DType::f16);
  const auto g = gradients(
      {x},
      [&] {
        return max_pool2d(x, {1, 34, 1, 1, 0, 0});
      },
      dy);
  CHECK(all(g[0])[66 + 32] == 33.03125);  // 33 (1 + 2^-10), rounded once; sums in f16 would lose the small part
}

TEST_CASE("max_pool2d: places take one byte, or four for large windows") {
  const Tensor x = Tensor::zeros({1, 1, 20, 20});
  CHECK(apply_all(MaxPool2d(Pool2dOptions::square(16, 1)), {x})[1].dtype() == DType::u8);
  CHECK(apply_all(MaxPool2d(Pool2dOptions::square(17, 1)), {x})[1].dtype() == DType::i32);
}

TEST_CASE("max_pool2d: a second derivative is refused by name") {
  const Tensor x = f64({1, 1, 2, 2}, {1, 2, 3, 4});
  Tape tape;
  tape.watch(x);
  const Tensor y = square(max_pool2d(x, {}));
  const Tensor g = tape.gradients(sum(y), std::span(&x, 1), true)[0];
  CHECK_THROWS_WITH(tape.gradients(sum(g), std::span(&x, 1)),
                    Contains("max_pool2d_grad: has no derivative of its own"));
  CHECK_THROWS_AS(tape.gradients(sum(g), std::span(&x, 1)), GradError);
}

TEST_CASE("average pooling: padding counted as zeros or left out; even windows; second derivatives") {
  const Tensor x = reshape(Tensor::arange(12, DType::f64) + 1.0, {1, 1, 3, 4});
  Pool2dOptions options = Pool2dOptions::square(2, 2, 1);
  CHECK(all(avg_pool2d(x, options)) == Values{0.25, 1.25, 1, 3.5, 8.5, 5});
  options.count_include_pad = false;
  CHECK(all(avg_pool2d(x, options)) == Values{1, 2.5, 4, 7, 8.5, 10});
  CHECK(all(adaptive_avg_pool2d(x, 2, 3)) == Values{3.5, 4.5, 5.5, 7.5, 8.5, 9.5});
  for (const bool even : {false, true}) {
    Tape tape;
    tape.watch(x);
    const Tensor y = even ? adaptive_avg_pool2d(x, 1, 1) : avg_pool2d(x, {3, 4, 1, 1, 0, 0});
    const Tensor g = tape.gradients(sum(y * y), std::span(&x, 1), true)[0];  // 2 y / 12 everywhere
    const Tensor h = tape.gradients(sum(g), std::span(&x, 1))[0];            // 12 * 2 / 12 / 12
    require_close(all(g), Values(12, 6.5 / 6));
    require_close(all(h), Values(12, 1.0 / 6));
  }
}

TEST_CASE("pooling: errors name the op and both values") {
  const Tensor x = Tensor::zeros({1, 2, 3, 4});
  CHECK_THROWS_WITH(max_pool2d(x, Pool2dOptions::square(4, 1)),
                    Contains("max_pool2d: kernel is larger than the padded input: kernel [4, 4], input [3, 4]"));
  CHECK_THROWS_AS(avg_pool2d(x, Pool2dOptions::square(4, 1)), ShapeError);
  CHECK_THROWS_WITH(max_pool2d(x, Pool2dOptions::square(2, 2, 2)), Contains("padding [2, 2], kernel [2, 2]"));
  CHECK_THROWS_WITH(avg_pool2d(x, Pool2dOptions::square(0, 1)),
                    Contains("avg_pool2d: kernel must be positive, but is [0, 0]"));
  CHECK_THROWS_AS(avg_pool2d(x, Pool2dOptions::square(1, 0)), ValueError);
  CHECK_THROWS_AS(avg_pool2d(x, Pool2dOptions::square(2, 1, -1)), ValueError);
  CHECK_THROWS_WITH(max_pool2d(Tensor::zeros({2, 3}), {}), Contains("x needs 4 dimensions, but its shape is [2, 3]"));
  CHECK_THROWS_WITH(max_pool2d(Tensor::zeros({1, 1, 2, 2}, DType::i32), {}),
                    Contains("needs a floating dtype, but x is i32"));
  CHECK_THROWS_WITH(adaptive_avg_pool2d(x, 0, 1), Contains("output size must be positive, but is [0, 1]"));
  CHECK_THROWS_WITH(adaptive_avg_pool2d(Tensor::zeros({1, 1, 0, 2}), 1, 1), Contains("the shape is [1, 1, 0, 2]"));
  CHECK(max_pool2d(Tensor::zeros({0, 2, 4, 4}), {}).shape() == Shape{0, 2, 2, 2});
}
