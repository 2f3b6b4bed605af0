#pragma once
// Reading and adding at given places. Indices are i64 or i32 in [0, size); duplicates add up in a
// fixed order, half types in f32 and rounded once.
#include "reel/autograd/op.h"

namespace reel {

/// y[i...] = weight[indices[i...]]; inputs weight [n, d], indices [...]; y [..., d].
class Embedding final : public OpOf<Embedding> {
 public:
  static constexpr OpInfo kInfo{"embedding", "weight[indices]", Cast::keep};
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {2, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
};
/// dweight [rows, d] = the sum of dy at equal indices; inputs indices, dy.
class EmbeddingGrad final : public OpOf<EmbeddingGrad> {
 public:
  static constexpr OpInfo kInfo{"embedding_grad", "dweight[indices] += dy", Cast::keep};
  explicit EmbeddingGrad(std::int64_t rows_of_weight) : rows(rows_of_weight) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {1, 0}; }
  std::int64_t rows;
};

/// y[..., j, ...] = x[..., indices[j], ...]; inputs x (any dtype), indices [k].
class IndexSelect final : public OpOf<IndexSelect> {
 public:
  static constexpr OpInfo kInfo{"index_select", "x[..., indices, ...]", Cast::keep};
  explicit IndexSelect(int dimension) : dim(dimension) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {2, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  int dim;
};
/// x with y added at indices; inputs x, indices [k], y (shaped like x with k in place of dimension
/// `dim`).
class IndexAdd final : public OpOf<IndexAdd> {
 public:
  static constexpr OpInfo kInfo{"index_add", "x, with x[..., indices, ...] += y", Cast::widest};
  explicit IndexAdd(int dimension) : dim(dimension) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {2, 0}; }
  int dim;
};

/// y[i, j, k] = x[indices[i, j, k], j, k] for dim 0, and so on; inputs x (any dtype), indices of
/// x's rank, which may be smaller than x in the other dimensions.
class Gather final : public OpOf<Gather> {
 public:
  static constexpr OpInfo kInfo{"gather", "x at indices along dim", Cast::keep};
  explicit Gather(int dimension) : dim(dimension) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {2, 0}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  int dim;
};
/// x with y added where `gather` would have read; inputs x, indices, y (at least as large as the
/// indices).
class ScatterAdd final : public OpOf<ScatterAdd> {
 public:
  static constexpr OpInfo kInfo{"scatter_add", "x, with y added at indices along dim", Cast::widest};
  explicit ScatterAdd(int dimension) : dim(dimension) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {2, 0}; }
  int dim;
};

}  // namespace reel
