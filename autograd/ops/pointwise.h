#pragma once
// Functions of one tensor, element by element. The maths is in kernels/math/functions.h.
#include "reel/autograd/op.h"
#include "reel/kernels/math/functions.h"

namespace reel {

/// What differs between the functions, apart from the maths.
template <class F>
struct MapTraits;
#define REEL_TRAITS(F, NAME, FORMULA, CAST, FLOPS)                                 \
  template <>                                                                      \
  struct MapTraits<math::F> {                                                      \
    static constexpr OpInfo info{NAME, FORMULA, CAST};                             \
    static constexpr OpInfo grad{NAME "_grad", "dy * d/dx " FORMULA, CAST};        \
    static constexpr OpInfo grad2{NAME "_grad2", "a * b * d2/dx2 " FORMULA, CAST}; \
    static constexpr double flops = FLOPS;                                         \
  };
REEL_TRAITS(Neg, "neg", "-x", Cast::keep, 1)
REEL_TRAITS(Abs, "abs", "|x|", Cast::keep, 1)
REEL_TRAITS(Sign, "sign", "sign(x)", Cast::keep, 1)
REEL_TRAITS(Floor, "floor", "floor(x)", Cast::keep, 1)
REEL_TRAITS(Ceil, "ceil", "ceil(x)", Cast::keep, 1)
REEL_TRAITS(Round, "round", "round(x)", Cast::keep, 1)
REEL_TRAITS(Exp, "exp", "e^x", Cast::fused_f32, 10)
REEL_TRAITS(Expm1, "expm1", "e^x - 1", Cast::fused_f32, 12)
REEL_TRAITS(Log, "log", "ln(x)", Cast::fused_f32, 12)
REEL_TRAITS(Log1p, "log1p", "ln(1 + x)", Cast::fused_f32, 14)
REEL_TRAITS(Sqrt, "sqrt", "sqrt(x)", Cast::keep, 1)
REEL_TRAITS(Rsqrt, "rsqrt", "1 / sqrt(x)", Cast::fused_f32, 2)
REEL_TRAITS(Reciprocal, "reciprocal", "1 / x", Cast::fused_f32, 1)
REEL_TRAITS(Square, "square", "x^2", Cast::fused_f32, 1)
REEL_TRAITS(Sin, "sin", "sin(x)", Cast::keep, 15)
REEL_TRAITS(Cos, "cos", "cos(x)", Cast::keep, 15)
REEL_TRAITS(Tanh, "tanh", "tanh(x)", Cast::keep, 15)
REEL_TRAITS(Sigmoid, "sigmoid", "1 / (1 + e^-x)", Cast::keep, 12)
REEL_TRAITS(Relu, "relu", "max(x, 0)", Cast::keep, 1)
REEL_TRAITS(LeakyRelu, "leaky_relu", "x > 0 ? x : slope * x", Cast::keep, 2)
REEL_TRAITS(Elu, "elu", "x > 0 ? x : alpha * (e^x - 1)", Cast::keep, 13)
REEL_TRAITS(Gelu, "gelu", "x * (1 + erf(x / sqrt(2))) / 2", Cast::keep, 30)
REEL_TRAITS(GeluTanh, "gelu_tanh", "x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2", Cast::keep, 24)
REEL_TRAITS(Silu, "silu", "x / (1 + e^-x)", Cast::keep, 13)
REEL_TRAITS(Erf, "erf", "erf(x)", Cast::keep, 25)
REEL_TRAITS(Softplus, "softplus", "ln(1 + e^x)", Cast::fused_f32, 24)
REEL_TRAITS(Clamp, "clamp", "min(max(x, low), high)", Cast::keep, 2)
REEL_TRAITS(AddScalar, "add_scalar", "x + c", Cast::keep, 1)
REEL_TRAITS(MulScalar, "mul_scalar", "c * x", Cast::keep, 1)
REEL_TRAITS(PowScalar, "pow_scalar", "x^e", Cast::fused_f32, 30)
#undef REEL_TRAITS

/// y = f(x)
template <class F>
class Map final : public OpOf<Map<F>> {
 public:
  static constexpr OpInfo kInfo = MapTraits<F>::info;
  explicit Map(F fn = {}) : f(fn) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override;
  Cost cost(Metas in, std::span<const Meta> out) const override;
  [[no_unique_address]] F f;
};

/// dx = dy * df(x, y), inputs x, y, dy. An input that df does not read may be left out.
template <class F>
class MapGrad final : public OpOf<MapGrad<F>> {
 public:
  static constexpr OpInfo kInfo = MapTraits<F>::grad;
  explicit MapGrad(F fn = {}) : f(fn) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Cost cost(Metas in, std::span<const Meta> out) const override;
  [[no_unique_address]] F f;
};

/// a * b * ddf(x, y), inputs x, y, a, b.
template <class F>
class MapGrad2 final : public OpOf<MapGrad2<F>> {
 public:
  static constexpr OpInfo kInfo = MapTraits<F>::grad2;
  explicit MapGrad2(F fn = {}) : f(fn) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  [[no_unique_address]] F f;
};

}  // namespace reel
