#pragma once
// The names of all pointwise functions, once: kernels and ops are instantiated for what is named here.
// Their formulas are in functions.h.

// clang-format off
/// Functions of one number; those WITH_DDF have a second derivative.
#define REEL_FOR_EACH_MAP_WITH_DDF(X)                                                                        \
  X(Neg) X(Abs) X(Sign) X(Floor) X(Ceil) X(Round) X(Exp) X(Expm1) X(Log) X(Log1p) X(Sqrt) X(Rsqrt)           \
  X(Reciprocal) X(Square) X(Sin) X(Cos) X(Tanh) X(Sigmoid) X(Relu) X(LeakyRelu) X(Elu) X(Erf) X(Softplus)    \
  X(Clamp) X(AddScalar) X(MulScalar) X(PowScalar)
#define REEL_FOR_EACH_MAP(X) REEL_FOR_EACH_MAP_WITH_DDF(X) X(Gelu) X(GeluTanh) X(Silu)
#define REEL_FOR_EACH_ZIP(X) X(Add) X(Sub) X(Mul) X(Div) X(Pow) X(Maximum) X(Minimum)
#define REEL_FOR_EACH_COMPARE(X) X(Equal) X(NotEqual) X(Less) X(LessEqual) X(Greater) X(GreaterEqual)
#define REEL_FOR_EACH_PAIR_LOSS(X) \
  X(SquaredError) X(AbsoluteError) X(SmoothL1) X(BinaryCrossEntropy) X(BinaryCrossEntropyWithLogits)
// clang-format on

namespace reel::math {
#define REEL_DECLARE(F) struct F;
REEL_FOR_EACH_MAP(REEL_DECLARE)
REEL_FOR_EACH_ZIP(REEL_DECLARE)
REEL_FOR_EACH_COMPARE(REEL_DECLARE)
REEL_FOR_EACH_PAIR_LOSS(REEL_DECLARE)
#undef REEL_DECLARE
}  // namespace reel::math
