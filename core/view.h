#pragma once
// Other looks at the same bytes. These functions only do arithmetic on shape and strides; the ops of
// the same names in autograd call them and are recorded on a tape.
#include <optional>

#include "reel/core/tensor.h"

namespace reel::view {

/// A tensor on the storage of `t`. Throws ShapeError when an element would lie outside of it.
Tensor as_strided(const Tensor& t, const Shape& shape, const Strides& strides, std::int64_t offset);
/// Elements start, start + step, ... below stop of dimension `dim`, with 0 <= start <= stop <= size, step > 0.
Tensor slice(const Tensor& t, int dim, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
/// Dimension `dim` fixed at `index` and removed; negative indices count from the end.
Tensor select(const Tensor& t, int dim, std::int64_t index);
Tensor transpose(const Tensor& t, int a, int b);
/// Dimension i of the result is dimension order[i] of `t`.
Tensor permute(const Tensor& t, const Dims& order);
/// Repeats dimensions of size 1 (and new leading ones) without copying.
Tensor expand(const Tensor& t, const Shape& shape);
Tensor squeeze(const Tensor& t, int dim);
Tensor unsqueeze(const Tensor& t, int dim);
/// One size of `shape` may be -1: it is inferred from the others.
Shape infer_shape(std::int64_t count, const Shape& shape);
/// `t` under another shape of the same count, when strides can express it.
std::optional<Tensor> try_reshape(const Tensor& t, const Shape& shape);
/// Layout class of these strides.
Layout layout_of(const Shape& shape, const Strides& strides);

}  // namespace reel::view
