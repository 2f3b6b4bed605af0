// The checks of ops are themselves checked: ops with planted faults must be found.
#include "reel/tests/support/op_checks.h"
#include "reel/autograd/ops.h"
#include "reel/autograd/ops/common.h"
#include "reel/kernels/pointwise.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using namespace reel::test;

namespace {

enum class Fault { none, value, tail, overrun, strides, gradient, half_gradient, forgets_input };

/// y = 3 x, with one thing wrong.
class Triple final : public OpOf<Triple>, public CustomOp {
 public:
  static constexpr OpInfo kInfo{"triple", "3 x", Cast::keep};
  explicit Triple(Fault f) : fault(f) {}
  void infer(Metas in, OutMetas& out) const override { out.add(in[0]->shape, in[0]->dtype); }
  void forward(Inputs in, Outputs& out) const override {
    const Tensor &x = in[0], &y = out[0];
    visit_floating(x.dtype(), [&]<class T>() {
      const std::int64_t n = x.numel() - (fault == Fault::tail ? 1 : 0);
      const std::vector<T> v = x.to_vector<T>();
      for (std::int64_t i = 0; i < n; ++i) {
        const T source = fault == Fault::strides ? x.data<T>()[i] : v[static_cast<std::size_t>(i)];
        y.data<T>()[i] = convert<T>(convert<double>(source) * (fault == Fault::value ? 3.01 : 3.0));
      }
      if (fault == Fault::overrun) y.data<T>()[n] = T{};
    });
  }
  void backward(Backward& b) const override {
    if (fault == Fault::forgets_input) (void)b.in(0);
    const bool wrong = fault == Fault::gradient || (fault == Fault::half_gradient && b.dout().dtype() != DType::f64);
    b.set(0, b.dout() * (wrong ? 2.9 : 3.0));
  }
  Saves saves() const override { return {0, 0}; }
  Fault fault;
};

Sample sample(Fault f) {
  return {op<Triple>(f), {values({3, 5})}, [](const std::vector<Tensor>& in) {
            Values y = in[0].to_vector<double>();
            for (double& v : y) v *= 3;
            return std::vector<Values>{y};
          }};
}

bool found(const Faults& f) {
  return !f.empty();
}

}  // namespace

TEST_CASE("a sound op passes every check", "[checks]") {
  const Sample s = sample(Fault::none);
  for (const DType d : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    CHECK(check_values(s, d).empty());
    CHECK(check_layouts(s, d).empty());
  }
  CHECK(check_gradients(s).empty());
  for (const DType d : {DType::f32, DType::f16, DType::bf16}) CHECK(check_gradients_narrow(s, d).empty());
  CHECK(check_second_gradients(s).empty());
  CHECK(check_description(s).empty());
}

TEST_CASE("planted faults are found", "[checks]") {
  CHECK(found(check_values(sample(Fault::value), DType::f64)));
  CHECK(found(check_values(sample(Fault::value), DType::f16)));
  CHECK(found(check_values(sample(Fault::tail), DType::f32)));
  CHECK(found(check_values(sample(Fault::overrun), DType::f32)));
  CHECK(found(check_layouts(sample(Fault::strides), DType::f32)));
  CHECK(found(check_gradients(sample(Fault::gradient))));
  CHECK(found(check_gradients_narrow(sample(Fault::half_gradient), DType::f32)));
  CHECK_THROWS_AS(check_gradients(sample(Fault::forgets_input)), GradError);
}

TEST_CASE("NaN is a failure unless it is expected", "[checks]") {
  Sample s = sample(Fault::none);
  s.in[0].data<double>()[4] = std::nan("");
  CHECK(check_values(s, DType::f64).empty());  // NaN in, NaN expected
  s.reference = [](const std::vector<Tensor>& in) {
    return std::vector<Values>{Values(static_cast<std::size_t>(in[0].numel()), 0.0)};
  };
  CHECK(found(check_values(s, DType::f64)));
}
