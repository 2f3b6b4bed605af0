#pragma once
// Copies, conversions, and other looks at the same numbers. The views make their output themselves.
#include <utility>
#include <vector>

#include "reel/autograd/op.h"

namespace reel {

/// The numbers of x in another dtype.
class To final : public OpOf<To> {
 public:
  static constexpr OpInfo kInfo{"to", "x in another dtype", Cast::keep};
  explicit To(DType target) : dtype(target) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  DType dtype;
};

/// A row-major copy.
class Contiguous final : public OpOf<Contiguous> {
 public:
  static constexpr OpInfo kInfo{"contiguous", "x, stored row by row", Cast::keep};
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
};

/// The same elements, in row-major order, under another shape. Copies only where strides cannot express it.
class Reshape final : public OpOf<Reshape> {
 public:
  static constexpr OpInfo kInfo{"reshape", "x under another shape", Cast::keep, true, true};
  explicit Reshape(const Shape& to) : shape(to) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  Shape shape;
};

/// Dimension i of the result is dimension order[i] of x.
class Permute final : public OpOf<Permute> {
 public:
  static constexpr OpInfo kInfo{"permute", "x with dimensions in another order", Cast::keep, true, true};
  explicit Permute(const Dims& dims) : order(dims) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  Dims order;
};

/// Repeats dimensions of size 1.
class Expand final : public OpOf<Expand> {
 public:
  static constexpr OpInfo kInfo{"expand", "x repeated along dimensions of size 1", Cast::keep, true, true};
  explicit Expand(const Shape& to) : shape(to) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  Shape shape;
};

/// Elements start, start + step, ... below stop of dimension dim.
class Slice final : public OpOf<Slice> {
 public:
  static constexpr OpInfo kInfo{"slice", "x[start : stop : step]", Cast::keep, true, true};
  Slice(int d, std::int64_t from, std::int64_t to, std::int64_t by) : dim(d), start(from), stop(to), step(by) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  int dim;
  std::int64_t start, stop, step;
};

/// Zeros of `shape` with x at the places that Slice reads.
class SliceGrad final : public OpOf<SliceGrad> {
 public:
  static constexpr OpInfo kInfo{"slice_grad", "0 with x at [start : stop : step]", Cast::keep};
  SliceGrad(const Shape& to, const Slice& at) : shape(to), slice(at) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  Shape shape;
  Slice slice;
};

/// All inputs one after the other along dim.
class Concat final : public OpOf<Concat> {
 public:
  static constexpr OpInfo kInfo{"concat", "inputs one after the other", Cast::widest};
  explicit Concat(int d) : dim(d) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  int dim;
};

/// Dimension dim in reverse.
class Flip final : public OpOf<Flip> {
 public:
  static constexpr OpInfo kInfo{"flip", "x with a dimension reversed", Cast::keep};
  explicit Flip(int d) : dim(d) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  int dim;
};

/// x with `value` before and after it in each dimension.
class Pad final : public OpOf<Pad> {
 public:
  static constexpr OpInfo kInfo{"pad", "x with a border of a constant", Cast::keep};
  Pad(std::vector<std::pair<std::int64_t, std::int64_t>> border, double with) : pads(std::move(border)), value(with) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  std::vector<std::pair<std::int64_t, std::int64_t>> pads;
  double value;
};

/// Zero above (upper: below) a diagonal of the last two dimensions.
class Triangle final : public OpOf<Triangle> {
 public:
  static constexpr OpInfo kInfo{"triangle", "j - i <= diagonal ? x_ij : 0 (upper: >=)", Cast::keep};
  Triangle(bool up, std::int64_t d) : upper(up), diagonal(d) {}
  void infer(Metas in, OutMetas& out) const override;
  void forward(Inputs in, Outputs& out) const override;
  void backward(Backward& b) const override;
  Saves saves() const override { return {0, 0}; }
  bool upper;
  std::int64_t diagonal;
};

}  // namespace reel
