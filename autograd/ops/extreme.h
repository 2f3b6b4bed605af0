#pragma once
// Largest and smallest elements.
#include "reel/autograd/op.h"

namespace reel {

/// Outputs: values, and positions (i64) along dim. NaN wins; the lowest position of a tie wins and
/// gets the gradient.
class Extreme final : public OpOf<Extreme> {
 public:
  static constexpr OpInfo kInfo{"extreme", "max x or min x along a dimension"};
  explicit Extreme(int d, bool keep = false, bool max = true) : dim(d), keepdim(keep), largest(max) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 2}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  int dim;
  bool keepdim, largest;
};

/// Over all elements. NaN wins; ties share the gradient equally.
class ExtremeAll final : public OpOf<ExtremeAll> {
 public:
  static constexpr OpInfo kInfo{"extreme_all", "max x or min x over all"};
  explicit ExtremeAll(bool max = true) : largest(max) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {1, 1}; }
  Cost cost(Metas in, std::span<const Meta> out) const override;
  bool largest;
};

/// The positions alone.
class ArgExtreme final : public OpOf<ArgExtreme> {
 public:
  static constexpr OpInfo kInfo{"arg_extreme", "position of max x or min x", Cast::keep, false};
  explicit ArgExtreme(int d, bool keep = false, bool max = true) : dim(d), keepdim(keep), largest(max) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  Cost cost(Metas in, std::span<const Meta> out) const override;
  int dim;
  bool keepdim, largest;
};

/// Outputs: the k best values along dim, best first, and their positions (i64).
class TopK final : public OpOf<TopK> {
 public:
  static constexpr OpInfo kInfo{"topk", "the k largest or smallest x along a dimension"};
  explicit TopK(std::int64_t count, int d = -1, bool max = true) : k(count), dim(d), largest(max) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 2}; }
  std::int64_t k;
  int dim;
  bool largest;
};

}  // namespace reel
