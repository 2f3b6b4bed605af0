#include "reel/core/view.h"

#include <algorithm>

namespace reel::view {
namespace {

bool same_places(const Shape& shape, const Strides& a, const Strides& b) {
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] != 1 && a[i] != b[i]) return false;  // the stride of a single element never matters
  return true;
}

Tensor make(const Tensor& t, const Shape& shape, const Strides& strides, std::int64_t offset) {
  const Meta meta(shape, t.dtype(), layout_of(shape, strides), t.device());
  return Tensor(Ref<TensorImpl>::make(meta, strides, t.impl()->storage, offset));
}

}  // namespace

Layout layout_of(const Shape& shape, const Strides& strides) {
  if (numel(shape) == 0 || same_places(shape, strides, row_major(shape))) return Layout::row_major;
  if (shape.rank() == 4 && same_places(shape, strides, channels_last(shape))) return Layout::channels_last;
  return Layout::strided;
}

Tensor as_strided(const Tensor& t, const Shape& shape, const Strides& strides, std::int64_t offset) {
  check<ShapeError>(shape.rank() == strides.rank(), "as_strided: shape ", shape, " and strides ", strides,
                    " differ in length");
  if (numel(shape) > 0) {
    std::int64_t low = offset, high = offset;
    for (int i = 0; i < shape.rank(); ++i) (strides[i] < 0 ? low : high) += (shape[i] - 1) * strides[i];
    const auto held = static_cast<std::int64_t>(t.impl()->storage->bytes() / size_of(t.dtype()));
    check<ShapeError>(low >= 0 && high < held, "as_strided: elements ", low, " to ", high, " of a storage that holds ",
                      held);
  }
  return make(t, shape, strides, offset);
}

Tensor slice(const Tensor& t, int dim, std::int64_t start, std::int64_t stop, std::int64_t step) {
  const int d = normalize_dim(dim, t.shape(), "slice");
  check<ShapeError>(t.rank() > 0, "slice: a scalar has no dimension to slice");
  check<IndexError>(0 <= start && start <= stop && stop <= t.shape()[d], "slice: range ", start, " to ", stop,
                    " is not inside dimension ", d, " of shape ", t.shape());
  check<ValueError>(step > 0, "slice: step must be positive, but is ", step);
  Shape shape = t.shape();
  Strides strides = t.strides();
  shape[d] = (stop - start + step - 1) / step;
  strides[d] *= step;
  return make(t, shape, strides, t.impl()->offset + (shape[d] > 0 ? start * t.strides()[d] : 0));
}

Tensor select(const Tensor& t, int dim, std::int64_t index) {
  const int d = normalize_dim(dim, t.shape(), "select");
  check<ShapeError>(t.rank() > 0, "select: a scalar has no dimension to select from");
  const std::int64_t n = t.shape()[d], at = index < 0 ? index + n : index;
  check<IndexError>(at >= 0 && at < n, "select: index ", index, " is out of range for dimension ", d, " of shape ",
                    t.shape());
  Shape shape = t.shape();
  Strides strides = t.strides();
  shape.erase(d);
  strides.erase(d);
  return make(t, shape, strides, t.impl()->offset + at * t.strides()[d]);
}

Tensor transpose(const Tensor& t, int a, int b) {
  const int i = normalize_dim(a, t.shape(), "transpose"), j = normalize_dim(b, t.shape(), "transpose");
  Shape shape = t.shape();
  Strides strides = t.strides();
  if (t.rank() > 0) {
    std::swap(shape[i], shape[j]);
    std::swap(strides[i], strides[j]);
  }
  return make(t, shape, strides, t.impl()->offset);
}

Tensor permute(const Tensor& t, const Dims& order) {
  check<ShapeError>(order.rank() == t.rank(), "permute: order ", order, " has another length than shape ", t.shape());
  Shape shape = t.shape();
  Strides strides = t.strides();
  unsigned seen = 0;
  for (int i = 0; i < order.rank(); ++i) {
    const int from = normalize_dim(static_cast<int>(order[i]), t.shape(), "permute");
    check<ShapeError>(!((seen >> from) & 1u), "permute: dimension ", from, " appears twice in ", order);
    seen |= 1u << from;
    shape[i] = t.shape()[from];
    strides[i] = t.strides()[from];
  }
  return make(t, shape, strides, t.impl()->offset);
}

Tensor expand(const Tensor& t, const Shape& shape) {
  const int shift = shape.rank() - t.rank();
  check<ShapeError>(shift >= 0, "expand: shape ", t.shape(), " cannot lose dimensions to become ", shape);
  Strides strides = Dims::filled(shape.rank(), 0);
  for (int i = 0; i < t.rank(); ++i) {
    const std::int64_t have = t.shape()[i], want = shape[i + shift];
    check<ShapeError>(have == want || have == 1, "expand: shape ", t.shape(), " does not expand to ", shape,
                      ". Only sizes of 1 can be repeated");
    strides[i + shift] = have == want ? t.strides()[i] : 0;
  }
  return make(t, shape, strides, t.impl()->offset);
}

Tensor squeeze(const Tensor& t, int dim) {
  const int d = normalize_dim(dim, t.shape(), "squeeze");
  if (t.rank() == 0 || t.shape()[d] != 1) return t;
  return select(t, d, 0);
}

Tensor unsqueeze(const Tensor& t, int dim) {
  check<IndexError>(dim >= -t.rank() - 1 && dim <= t.rank(), "unsqueeze: dimension ", dim,
                    " is out of range for shape ", t.shape());
  const int d = dim < 0 ? dim + t.rank() + 1 : dim;
  Shape shape = t.shape();
  Strides strides = t.strides();
  strides.insert(d, d < t.rank() ? shape[d] * strides[d] : 1);
  shape.insert(d, 1);
  return make(t, shape, strides, t.impl()->offset);
}

Shape infer_shape(std::int64_t count, const Shape& shape) {
  Shape out = shape;
  int unknown = -1;
  std::int64_t known = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) {
      check<ShapeError>(unknown < 0, "reshape: only one size may be -1, but the shape is ", shape);
      unknown = i;
      out[i] = 1;
    }
  }
  known = numel(out);
  if (unknown >= 0) {
    check<ShapeError>(known > 0 && count % known == 0, "reshape: ", count, " elements do not fill the shape ", shape);
    out[unknown] = count / known;
  }
  check<ShapeError>(numel(out) == count, "reshape: ", count, " elements do not fit the shape ", shape);
  return out;
}

std::optional<Tensor> try_reshape(const Tensor& t, const Shape& shape) {
  if (t.is_contiguous()) return make(t, shape, row_major(shape), t.impl()->offset);
  // Walk both shapes from the back; each group of old dimensions that are evenly spaced in memory
  // can be cut anew, a group boundary inside a new dimension cannot.
  Strides strides = Dims::filled(shape.rank(), 1);
  int n = shape.rank() - 1;
  for (int o = t.rank() - 1; o >= 0;) {
    std::int64_t group = t.shape()[o];
    const std::int64_t base = t.strides()[o];
    std::int64_t outer = base * t.shape()[o];
    for (--o; o >= 0 && (t.shape()[o] == 1 || t.strides()[o] == outer); --o) {
      group *= t.shape()[o];
      outer *= t.shape()[o];
    }
    std::int64_t step = base, filled = 1;
    for (; n >= 0 && (filled < group || shape[n] == 1); --n) {
      strides[n] = step;
      step *= shape[n];
      filled *= shape[n];
    }
    if (filled != group) return std::nullopt;
  }
  return make(t, shape, strides, t.impl()->offset);
}

}  // namespace reel::view
