#include "reel/autograd/ops/view.h"

#include <algorithm>

#include "reel/autograd/ops/common.h"
#include "reel/core/view.h"
#include "reel/kernels/pointwise.h"

namespace reel {

void To::infer(Metas in, OutMetas& out) const {
  out.add(in[0]->shape, dtype, layout_like(*in[0], in[0]->shape));
}
void To::forward(Inputs in, Outputs& out) const {
  kernels::copy(exec_of(out[0]), in[0], out[0]);
}
void To::backward(Backward& b) const {
  b.set(0, to(b.dout(), b.in_meta(0).dtype));
}

void Contiguous::infer(Metas in, OutMetas& out) const {
  out.add(in[0]->shape, in[0]->dtype);
}
void Contiguous::forward(Inputs in, Outputs& out) const {
  kernels::copy(exec_of(out[0]), in[0], out[0]);
}
void Contiguous::backward(Backward& b) const {
  b.set(0, b.dout());
}

void Reshape::infer(Metas in, OutMetas& out) const {
  out.add(view::infer_shape(in[0]->numel, shape), in[0]->dtype);
}
void Reshape::forward(Inputs in, Outputs& out) const {
  const Tensor& x = in[0];
  const Shape target = view::infer_shape(x.numel(), shape);
  if (auto v = view::try_reshape(x, target)) {
    out[0] = std::move(*v);
    return;
  }
  const Tensor copy = Tensor::empty(Meta(x.shape(), x.dtype(), Layout::row_major, x.device()));
  kernels::copy(exec_of(x), x, copy);
  out[0] = *view::try_reshape(copy, target);
}
void Reshape::backward(Backward& b) const {
  b.set(0, reshape(b.dout(), b.in_meta(0).shape));
}

void Permute::infer(Metas in, OutMetas& out) const {
  Shape s = in[0]->shape;
  check<ShapeError>(order.rank() == s.rank(), "permute: order ", order, " has another length than shape ", s);
  for (int i = 0; i < s.rank(); ++i)
    s[i] = in[0]->shape[normalize_dim(static_cast<int>(order[i]), in[0]->shape, "permute")];
  out.add(s, in[0]->dtype);
}
void Permute::forward(Inputs in, Outputs& out) const {
  out[0] = view::permute(in[0], order);
}
void Permute::backward(Backward& b) const {
  Dims inverse = order;
  for (int i = 0; i < order.rank(); ++i)
    inverse[normalize_dim(static_cast<int>(order[i]), b.in_meta(0).shape, "permute")] = i;
  b.set(0, permute(b.dout(), inverse));
}

void Expand::infer(Metas in, OutMetas& out) const {
  out.add(shape, in[0]->dtype);
}
void Expand::forward(Inputs in, Outputs& out) const {
  out[0] = view::expand(in[0], shape);
}
void Expand::backward(Backward& b) const {
  b.set(0, sum_to(b.dout(), b.in_meta(0).shape));
}

void Slice::infer(Metas in, OutMetas& out) const {
  Shape s = in[0]->shape;
  s[normalize_dim(dim, s, "slice")] = (stop - start + step - 1) / step;
  out.add(s, in[0]->dtype);
}
void Slice::forward(Inputs in, Outputs& out) const {
  out[0] = view::slice(in[0], dim, start, stop, step);
}
void Slice::backward(Backward& b) const {
  b.set(0, apply(SliceGrad(b.in_meta(0).shape, *this), {b.dout()}));
}

void SliceGrad::infer(Metas in, OutMetas& out) const {
  out.add(shape, in[0]->dtype);
}
void SliceGrad::forward(Inputs in, Outputs& out) const {
  const kernels::Exec exec = exec_of(out[0]);
  kernels::fill(exec, out[0], 0);
  kernels::copy(exec, in[0], view::slice(out[0], slice.dim, slice.start, slice.stop, slice.step));
}
void SliceGrad::backward(Backward& b) const {
  b.set(0, apply(slice, {b.dout()}));
}

void Concat::infer(Metas in, OutMetas& out) const {
  check<ShapeError>(!in.empty(), "concat: needs at least one tensor");
  Shape shape = in[0]->shape;
  check<ShapeError>(shape.rank() > 0, "concat: a scalar has no dimension to join along. Use stack");
  const int d = normalize_dim(dim, shape, "concat");
  shape[d] = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    require_same_dtype("concat", "input 0", *in[0], "another input", *in[i]);
    Shape part = in[i]->shape;
    const bool fits = part.rank() == shape.rank();
    const std::int64_t n = fits ? std::exchange(part[d], 0) : 0;
    Shape zeroed = shape;
    zeroed[d] = 0;
    check<ShapeError>(fits && part == zeroed, "concat: shapes may differ only in dimension ", d, ": input 0 ",
                      in[0]->shape, ", input ", i, " ", in[i]->shape);
    shape[d] += n;
  }
  out.add(shape, in[0]->dtype);
}
void Concat::forward(Inputs in, Outputs& out) const {
  const int d = normalize_dim(dim, out[0].shape(), "concat");
  std::int64_t at = 0;
  for (int i = 0; i < in.size(); ++i) {
    const std::int64_t n = in[i].shape()[d];
    kernels::copy(exec_of(out[0]), in[i], view::slice(out[0], d, at, at + n));
    at += n;
  }
}
void Concat::backward(Backward& b) const {
  const int d = normalize_dim(dim, b.out_meta().shape, "concat");
  std::int64_t at = 0;
  for (int i = 0; i < b.inputs(); ++i) {
    const std::int64_t n = b.in_meta(i).shape[d];
    if (b.needs(i)) b.set(i, slice(b.dout(), d, at, at + n));
    at += n;
  }
}

void Flip::infer(Metas in, OutMetas& out) const {
  check<ShapeError>(in[0]->shape.rank() > 0, "flip: a scalar has no dimension to reverse");
  normalize_dim(dim, in[0]->shape, "flip");
  out.add(in[0]->shape, in[0]->dtype);
}
void Flip::forward(Inputs in, Outputs& out) const {
  if (in[0].numel() == 0) return;
  const int d = normalize_dim(dim, in[0].shape(), "flip");
  kernels::View x = in[0];
  x.data += (x.shape[d] - 1) * x.strides[d] * static_cast<std::int64_t>(size_of(x.dtype));
  x.strides[d] = -x.strides[d];
  x.layout = Layout::strided;
  kernels::copy(exec_of(out[0]), x, out[0]);
}
void Flip::backward(Backward& b) const {
  b.set(0, flip(b.dout(), dim));
}

void Pad::infer(Metas in, OutMetas& out) const {
  Shape s = in[0]->shape;
  check<ShapeError>(static_cast<int>(pads.size()) == s.rank(), "pad: needs a pair for each dimension: ", pads.size(),
                    " pairs, shape ", s);
  for (int d = 0; d < s.rank(); ++d) {
    const auto [before, after] = pads[static_cast<std::size_t>(d)];
    check<ValueError>(before >= 0 && after >= 0, "pad: negative border (", before, ", ", after, ") in dimension ", d,
                      ". Use slice to cut");
    check<ShapeError>(!__builtin_add_overflow(s[d], before, &s[d]) && !__builtin_add_overflow(s[d], after, &s[d]),
                      "pad: the padded size of dimension ", d, " of ", in[0]->shape, " overflows");
  }
  out.add(s, in[0]->dtype);
}
void Pad::forward(Inputs in, Outputs& out) const {
  kernels::fill(exec_of(out[0]), out[0], value);
  Tensor inside = out[0];
  for (int d = 0; d < inside.rank(); ++d) {
    const std::int64_t before = pads[static_cast<std::size_t>(d)].first;
    inside = view::slice(inside, d, before, before + in[0].shape()[d]);
  }
  kernels::copy(exec_of(out[0]), in[0], inside);
}
void Pad::backward(Backward& b) const {
  Tensor g = b.dout();
  for (int d = 0; d < g.rank(); ++d) {
    const std::int64_t before = pads[static_cast<std::size_t>(d)].first, n = b.in_meta(0).shape[d];
    if (g.shape()[d] != n) g = slice(g, d, before, before + n);
  }
  b.set(0, g);
}

void Triangle::infer(Metas in, OutMetas& out) const {
  check<ShapeError>(in[0]->shape.rank() >= 2, "triangle: needs at least 2 dimensions, but the shape is ", in[0]->shape);
  out.add(in[0]->shape, in[0]->dtype);
}
void Triangle::forward(Inputs in, Outputs& out) const {
  kernels::triangle(exec_of(out[0]), in[0], out[0], upper, diagonal);
}
void Triangle::backward(Backward& b) const {
  b.set(0, apply(*this, {b.dout()}));
}

// --- The functions of ops.h ---------------------------------------------------------------------------------------

Tensor to(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : apply(To(dtype), {x});
}
Tensor contiguous(const Tensor& x) {
  return x.is_contiguous() ? x : apply(Contiguous(), {x});
}
Tensor clone(const Tensor& x) {
  return apply(Contiguous(), {x});
}
Tensor reshape(const Tensor& x, const Shape& shape) {
  return apply(Reshape(shape), {x});
}

Tensor flatten(const Tensor& x, int first, int last) {
  const int a = normalize_dim(first, x.shape(), "flatten"), z = normalize_dim(last, x.shape(), "flatten");
  check<ShapeError>(a <= z, "flatten: first dimension ", a, " comes after the last, ", z, ", of shape ", x.shape());
  Shape s;
  std::int64_t merged = 1;
  for (int d = 0; d < x.rank(); ++d) {
    if (d >= a && d <= z) merged *= x.shape()[d];
    if (d == z) s.push_back(merged);
    if (d < a || d > z) s.push_back(x.shape()[d]);
  }
  return reshape(x, x.rank() == 0 ? Shape{1} : s);
}
Tensor permute(const Tensor& x, const Dims& order) {
  return apply(Permute(order), {x});
}
Tensor transpose(const Tensor& x, int a, int b) {
  const int i = normalize_dim(a, x.shape(), "transpose"), j = normalize_dim(b, x.shape(), "transpose");
  Dims order;
  for (int d = 0; d < x.rank(); ++d) order.push_back(d == i ? j : d == j ? i : d);
  return permute(x, order);
}
Tensor expand(const Tensor& x, const Shape& shape) {
  return apply(Expand(shape), {x});
}
Tensor squeeze(const Tensor& x, int dim) {
  const int d = normalize_dim(dim, x.shape(), "squeeze");
  if (x.rank() == 0 || x.shape()[d] != 1) return x;
  Shape s = x.shape();
  s.erase(d);
  return reshape(x, s);
}
Tensor unsqueeze(const Tensor& x, int dim) {
  check<IndexError>(dim >= -x.rank() - 1 && dim <= x.rank(), "unsqueeze: dimension ", dim,
                    " is out of range for shape ", x.shape());
  Shape s = x.shape();
  s.insert(dim < 0 ? dim + x.rank() + 1 : dim, 1);
  return reshape(x, s);
}

Tensor slice(const Tensor& x, int dim, std::int64_t start, std::int64_t stop, std::int64_t step) {
  check<ShapeError>(x.rank() > 0, "slice: a scalar has no dimension to slice");
  check<ValueError>(step > 0, "slice: step must be positive, but is ", step, ". Use flip to reverse");
  const int d = normalize_dim(dim, x.shape(), "slice");
  const std::int64_t n = x.shape()[d];
  const auto bound = [n](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + n : i, 0, n); };
  const std::int64_t a = bound(start), z = std::max(a, bound(stop));
  return apply(Slice(d, a, z, step), {x});
}
Tensor select(const Tensor& x, int dim, std::int64_t index) {
  check<ShapeError>(x.rank() > 0, "select: a scalar has no dimension to select from");
  const int d = normalize_dim(dim, x.shape(), "select");
  const std::int64_t n = x.shape()[d], at = index < 0 ? index + n : index;
  check<IndexError>(at >= 0 && at < n, "select: index ", index, " is out of range for dimension ", d, " of shape ",
                    x.shape());
  return squeeze(slice(x, d, at, at + 1), d);
}
std::vector<Tensor> split(const Tensor& x, int dim, std::int64_t size) {
  check<ValueError>(size > 0, "split: size must be positive, but is ", size);
  const int d = normalize_dim(dim, x.shape(), "split");
  std::vector<Tensor> parts;
  for (std::int64_t at = 0; at < x.size(d); at += size) parts.push_back(slice(x, d, at, at + size));
  return parts;
}
Tensor concat(const std::vector<Tensor>& parts, int dim) {
  check<ShapeError>(!parts.empty(), "concat: needs at least one tensor");
  DType widest = parts[0].dtype();
  for (const Tensor& p : parts) widest = promote(widest, p.dtype());
  std::vector<Tensor> converted;
  std::vector<const Tensor*> in;
  for (const Tensor& p : parts) converted.push_back(to(p, widest));
  for (const Tensor& p : converted) in.push_back(&p);
  return std::move(apply_all(Concat(dim), in).t[0]);
}
Tensor stack(const std::vector<Tensor>& parts, int dim) {
  check<ShapeError>(!parts.empty(), "stack: needs at least one tensor");
  std::vector<Tensor> rows;
  for (const Tensor& p : parts) {
    check<ShapeError>(p.shape() == parts[0].shape(), "stack: shapes differ: ", parts[0].shape(), ", ", p.shape());
    rows.push_back(unsqueeze(p, dim));
  }
  return concat(rows, dim);
}
Tensor flip(const Tensor& x, int dim) {
  return apply(Flip(dim), {x});
}
Tensor pad(const Tensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& pads, double value) {
  return apply(Pad(pads, value), {x});
}
Tensor tril(const Tensor& x, std::int64_t diagonal) {
  return apply(Triangle(false, diagonal), {x});
}
Tensor triu(const Tensor& x, std::int64_t diagonal) {
  return apply(Triangle(true, diagonal), {x});
}

}  // namespace reel
