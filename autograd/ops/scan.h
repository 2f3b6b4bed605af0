#pragma once
// Products, running sums and sums of exponentials along one dimension.
#include "reel/autograd/op.h"

namespace reel {

class Prod final : public OpOf<Prod> {
 public:
  static constexpr OpInfo kInfo{"prod", "x_1 x_2 ... x_n", Cast::fused_f32};
  explicit Prod(int d, bool keep = false) : dim(d), keepdim(keep) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {1, 0}; }
  int dim;
  bool keepdim;
};

/// Inputs x and dy; dy with or without the dimension. Products of all other elements, without a
/// division.
class ProdGrad final : public OpOf<ProdGrad> {
 public:
  static constexpr OpInfo kInfo{"prod_grad", "dx_i = dy * product of x_j, j != i", Cast::fused_f32};
  explicit ProdGrad(int d) : dim(d) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  int dim;
};

class Cumsum final : public OpOf<Cumsum> {
 public:
  static constexpr OpInfo kInfo{"cumsum", "y_i = x_1 + ... + x_i", Cast::fused_f32};
  explicit Cumsum(int d, bool from_end = false) : dim(d), reverse(from_end) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  int dim;
  bool reverse;
};

class LogSumExp final : public OpOf<LogSumExp> {
 public:
  static constexpr OpInfo kInfo{"logsumexp", "ln sum e^x", Cast::fused_f32};
  explicit LogSumExp(int d, bool keep = false) : dim(d), keepdim(keep) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {1, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  int dim;
  bool keepdim;
};

}  // namespace reel
