#pragma once
// Functions of two tensors, element by element, broadcast; comparisons; selection.
#include "reel/autograd/op.h"
#include "reel/kernels/math/functions.h"

namespace reel {

template <class F>
struct ZipTraits;
#define REEL_TRAITS(F, NAME, FORMULA, CAST, SAVE_IN, SAVE_OUT) \
  template <>                                                  \
  struct ZipTraits<math::F> {                                  \
    static constexpr OpInfo info{NAME, FORMULA, CAST};         \
    static constexpr Saves saves{SAVE_IN, SAVE_OUT};           \
  };
REEL_TRAITS(Add, "add", "a + b", Cast::widest, 0, 0)
REEL_TRAITS(Sub, "sub", "a - b", Cast::widest, 0, 0)
REEL_TRAITS(Mul, "mul", "a * b", Cast::widest, 3, 0)
REEL_TRAITS(Div, "div", "a / b", Cast::widest, 2, 1)
REEL_TRAITS(Pow, "pow", "a^b", Cast::fused_f32, 3, 1)
REEL_TRAITS(Maximum, "maximum", "max(a, b)", Cast::widest, 3, 0)
REEL_TRAITS(Minimum, "minimum", "min(a, b)", Cast::widest, 3, 0)
#undef REEL_TRAITS

template <class F>
struct CompareTraits;
#define REEL_TRAITS(F, NAME, FORMULA)                                 \
  template <>                                                         \
  struct CompareTraits<math::F> {                                     \
    static constexpr OpInfo info{NAME, FORMULA, Cast::widest, false}; \
  };
REEL_TRAITS(Equal, "equal", "a == b")
REEL_TRAITS(NotEqual, "not_equal", "a != b")
REEL_TRAITS(Less, "less", "a < b")
REEL_TRAITS(LessEqual, "less_equal", "a <= b")
REEL_TRAITS(Greater, "greater", "a > b")
REEL_TRAITS(GreaterEqual, "greater_equal", "a >= b")
#undef REEL_TRAITS

/// y = f(a, b); inputs of one dtype
template <class F>
class Zip final : public OpOf<Zip<F>> {
 public:
  static constexpr OpInfo kInfo = ZipTraits<F>::info;
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return ZipTraits<F>::saves; }
};

/// y = f(a, b) as bool; inputs of one dtype
template <class F>
class Compare final : public OpOf<Compare<F>> {
 public:
  static constexpr OpInfo kInfo = CompareTraits<F>::info;
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
};

/// y = condition ? a : b; inputs condition (bool), a, b
class Where final : public OpOf<Where> {
 public:
  static constexpr OpInfo kInfo{"where", "condition ? a : b", Cast::widest};
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {1, 0}; }
};

}  // namespace reel
