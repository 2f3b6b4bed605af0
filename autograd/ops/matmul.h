#pragma once
#include "reel/autograd/op.h"

namespace reel {

/// c = op(a) op(b) over the last two dimensions, op the identity or a transposition; leading ones broadcast.
class MatMul final : public OpOf<MatMul> {
 public:
  static constexpr OpInfo kInfo{"matmul", "c_ij = sum_k a_ik b_kj", Cast::lower};
  explicit MatMul(bool transpose_a = false, bool transpose_b = false) : ta(transpose_a), tb(transpose_b) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {3, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  bool ta, tb;
};

/// y = x w^T + bias: x [..., in], w [out, in], bias [out] or left out
class Linear final : public OpOf<Linear> {
 public:
  static constexpr OpInfo kInfo{"linear", "y = x w^T + bias", Cast::lower};
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {3, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
};

}  // namespace reel
