// Attention against its definition, with masks, leading dimensions and rows that see nothing.
#include <cmath>
#include <limits>

#include "reel/autograd/ops.h"
#include "reel/autograd/tape.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using Catch::Matchers::Contains;

namespace {

using Values = std::vector<double>;

void check_close(const Tensor& got, const Values& want, double tolerance) {
  const Values g = got.to_vector<double>();
  REQUIRE(g.size() == want.size());
  for (std::size_t i = 0; i < g.size(); ++i) {
    INFO("[" << i << "] got " << g[i] << ", expected " << want[i]);
    CHECK(std::fabs(g[i] - want[i]) <= tolerance);
  }
}

/// softmax(q k^T scale + bias) v for each of `batch` slices; bias has one number for each pair,
/// -inf hides.
Values naive(const Tensor& q, const Tensor& k, const Tensor& v, double scale, const Values& bias) {
  const auto tq = static_cast<std::size_t>(q.size(-2)), tk = static_cast<std::size_t>(k.size(-2));
  const auto d = static_cast<std::size_t>(q.size(-1)), dv = static_cast<std::size_t>(v.size(-1));
  const Values a = q.to_vector<double>(), b = k.to_vector<double>(), c = v.to_vector<double>();
  Values y(a.size() / d * dv);
  for (std::size_t n = 0; n < a.size() / (tq * d); ++n) {
    for (std::size_t i = 0; i < tq; ++i) {
      Values p(tk);
      double total = 0;
      for (std::size_t j = 0; j < tk; ++j) {
        double s = 0;
        for (std::size_t e = 0; e < d; ++e) s += a[(n * tq + i) * d + e] * b[(n * tk + j) * d + e];
        total += p[j] = std::exp(s * scale + bias[i * tk + j]);
      }
      for (std::size_t j = 0; j < tk && total > 0; ++j)
        for (std::size_t e = 0; e < dv; ++e) y[(n * tq + i) * dv + e] += p[j] / total * c[(n * tk + j) * dv + e];
    }
  }
  return y;
}

struct Operands {
  Tensor q, k, v;
};
Operands operands(const Shape& leading, std::int64_t tq, std::int64_t tk, std::int64_t d, std::int64_t dv) {
  Generator g(1);
  const auto make = [&](std::int64_t t, std::int64_t size) {
    Shape s = leading;
    s.push_back(t);
    s.push_back(size);
    return normal(s, g, 0, 1, DType::f64);
  };
  return {make(tq, d), make(tk, d), make(tk, dv)};
}

constexpr double kHidden = -std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("causal attention and its gradient have the values of PyTorch", "[attention]") {
  const Tensor q = Tensor::from({3, 2}, {1, 0, 0, 1, 1, 1}, DType::f64),
               k = Tensor::from({3, 2}, {1, 2, 0, -1, 3, 1}, DType::f64),
               v = Tensor::from({3, 2}, {1, 2, 3, 4, 5, 6}, DType::f64);
  Tape tape;
  tape.watch(q);
  const Tensor y = attention(q, k, v, {}, true);
  check_close(y, {1, 2, 1.2140836029303408, 2.214083602930341, 3.666045658642473, 4.6660456586424734}, 1e-14);
  check_close(tape.gradients(y, std::span(&q, 1))[0],
              {0, 0, -0.2703519659191185, -0.8110558977573552, 2.4966586795555084, -1.1852119442609257}, 1e-14);
}

TEST_CASE("attention is its definition for any leading dimensions", "[attention]") {
  for (const Shape& leading : {Shape{}, Shape{3}, Shape{2, 3}, Shape{2, 1, 2}}) {
    const auto [q, k, v] = operands(leading, 4, 5, 3, 2);
    Shape want = leading;
    want.push_back(4);
    want.push_back(2);
    const Tensor y = attention(q, k, v);
    CHECK(y.shape() == want);
    check_close(y, naive(q, k, v, 1 / std::sqrt(3.0), Values(20)), 1e-14);
    check_close(attention(q, k, v, {}, false, 0.3), naive(q, k, v, 0.3, Values(20)), 1e-14);
  }
}

TEST_CASE("masks hide, add, and go together with causal", "[attention]") {
  const auto [q, k, v] = operands({2, 2}, 3, 4, 3, 3);
  const std::vector<int> seen{1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1};
  Values hide(12), causal(12), both(12), add(12);
  for (std::size_t i = 0; i < 12; ++i) {
    hide[i] = seen[i] ? 0 : kHidden;
    causal[i] = i % 4 <= i / 4 ? 0 : kHidden;
    both[i] = hide[i] + causal[i];
    add[i] = 0.1 * static_cast<double>(i);
  }
  const double scale = 1 / std::sqrt(3.0);
  const Tensor mask = Tensor::from<int>({3, 4}, seen, DType::boolean);
  check_close(attention(q, k, v, mask), naive(q, k, v, scale, hide), 1e-14);
  check_close(attention(q, k, v, expand(reshape(mask, {1, 1, 3, 4}), {2, 1, 3, 4})), naive(q, k, v, scale, hide),
              1e-14);
  check_close(attention(q, k, v, {}, true), naive(q, k, v, scale, causal), 1e-14);
  check_close(attention(q, k, v, mask, true), naive(q, k, v, scale, both), 1e-14);
  check_close(attention(q, k, v, Tensor::from({3, 4}, add)), naive(q, k, v, scale, add), 1e-14);
  check_close(attention(q, k, v, Tensor::from({3, 4}, hide)), naive(q, k, v, scale, hide), 1e-14);
}

TEST_CASE("a row that sees nothing gives 0, with gradients of 0", "[attention]") {
  const auto [q, k, v] = operands({2}, 3, 4, 3, 2);
  const Tensor mask = Tensor::from<int>({3, 1}, {1, 0, 1}, DType::boolean);
  Tape tape;
  for (const Tensor& t : {q, k, v}) tape.watch(t);
  const Tensor y = attention(q, k, v, mask);
  check_close(select(y, 1, 1), Values(4, 0), 0);
  const std::vector<Tensor> inputs{q, k, v};
  const auto d = tape.gradients(sum(y * y), inputs);
  check_close(select(d[0], 1, 1), Values(6, 0), 0);
  for (const Tensor& t : d)
    for (const double g : t.to_vector<double>()) CHECK(std::isfinite(g));
}

TEST_CASE("attention gradients equal central differences", "[attention]") {
  const auto [q, k, v] = operands({2}, 3, 4, 2, 2);
  const Tensor mask = Tensor::from<int>({3, 4}, {1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1}, DType::boolean);
  const std::vector<Tensor> inputs{q, k, v};
  const auto value = [&] { return sum(square(attention(inputs[0], inputs[1], inputs[2], mask))); };
  std::vector<Tensor> d;
  {
    Tape tape;
    for (const Tensor& t : inputs) tape.watch(t);
    d = tape.gradients(value(), inputs);
  }
  for (std::size_t n = 0; n < 3; ++n) {
    Values want;
    for (std::int64_t i = 0; i < inputs[n].numel(); ++i) {
      double& x = inputs[n].data<double>()[i];
      const double at = x;
      x = at + 1e-5;
      const double up = value().item();
      x = at - 1e-5;
      want.push_back((up - value().item()) / 2e-5);
      x = at;
    }
    check_close(d[n], want, 1e-8);
  }
}

TEST_CASE("attention in half does not leave the range of its scores", "[attention]") {
  // q k^T is 64 * 40 * 40 = 102400, beyond f16, while the scaled scores are 12800.
  const Tensor q = Tensor::full({2, 64}, 40, DType::f16), k = Tensor::full({3, 64}, 40, DType::f16),
               v = Tensor::full({3, 2}, 0.5, DType::f16);
  check_close(attention(q, k, v), Values(4, 0.5), 1e-3);
}

TEST_CASE("attention names what does not fit", "[attention]") {
  const Tensor q = Tensor::zeros({2, 3}), k = Tensor::zeros({4, 3}), v = Tensor::zeros({5, 3});
  CHECK_THROWS_AS(attention(q, k, v), ShapeError);
  CHECK_THROWS_WITH(attention(q, k, v),
                    Contains("attention") && Contains("q [2, 3]") && Contains("k [4, 3]") && Contains("v [5, 3]"));
  CHECK_THROWS_AS(attention(Tensor::zeros({3}), k, k), ShapeError);
  CHECK_THROWS_AS(attention(q, k, k, Tensor::zeros({2, 4}, DType::i64)), DTypeError);
}
