#include "reel/autograd/ops/index.h"

#include "reel/autograd/ops/common.h"
#include "reel/kernels/index.h"

namespace reel {
namespace {

void require_dim(std::string_view op, const Meta& x, int dim) {
  check<ShapeError>(x.shape.rank() > 0, op, ": a scalar has no dimension to index");
  check<IndexError>(dim >= 0 && dim < x.shape.rank(), op, ": dimension ", dim, " is out of range for shape ", x.shape);
}
void require_addable(std::string_view op, const Meta& x, const Meta& y) {
  require_same_dtype(op, "x", x, "y", y);
  check<DTypeError>(x.dtype != DType::boolean, op, ": is not defined for bool. Convert with to(x, DType::i32)");
}
/// Indices for gather and scatter_add: x's rank, and no larger than it except along dim.
void require_indices(std::string_view op, const Meta& x, const Meta& indices, int dim) {
  require_dim(op, x, dim);
  require_index(op, "indices", indices);
  check<ShapeError>(indices.shape.rank() == x.shape.rank(), op, ": indices and x differ in rank: indices ",
                    indices.shape, ", x ", x.shape);
  for (int d = 0; d < x.shape.rank(); ++d)
    check<ShapeError>(d == dim || indices.shape[d] <= x.shape[d], op, ": indices are larger than x in dimension ", d,
                      ": indices ", indices.shape, ", x ", x.shape);
}
/// Bytes of what is read of x, not of all of it.
Cost of_selection(Metas in, std::span<const Meta> out) {
  Cost c;
  c.bytes = in[1]->bytes() + 2 * out[0].bytes();
  return c;
}
Tensor zeros_like(const Meta& m) {
  return Tensor::zeros(m.shape, m.dtype, m.device);
}

}  // namespace

void Embedding::infer(Metas in, OutMetas& out) const {
  const Meta &weight = *in[0], &indices = *in[1];
  require_floating(kInfo.name, weight, "weight");
  require_rank(kInfo.name, "weight", weight, 2);
  require_index(kInfo.name, "indices", indices);
  check<ShapeError>(indices.shape.rank() < kMaxRank, kInfo.name, ": indices have ", indices.shape.rank(),
                    " dimensions, the result one more, and the most is ", kMaxRank);
  Shape shape = indices.shape;
  shape.push_back(weight.shape[1]);
  out.add(shape, weight.dtype);
}
void Embedding::forward(Inputs in, Outputs& out) const {
  kernels::index_select(exec_of(out[0]), kInfo.name, in[0], 0, in[1], out[0]);
}
void Embedding::backward(Backward& b) const {
  if (b.needs(0)) b.set(0, apply(EmbeddingGrad(b.in_meta(0).shape[0]), {b.in(1), b.dout()}));
}
Cost Embedding::cost(Metas in, std::span<const Meta> out) const {
  return of_selection(in, out);
}

void EmbeddingGrad::infer(Metas in, OutMetas& out) const {
  const Meta &indices = *in[0], &dy = *in[1];
  require_index(kInfo.name, "indices", indices);
  require_floating(kInfo.name, dy, "dy");
  bool fits = dy.shape.rank() == indices.shape.rank() + 1;
  for (int d = 0; fits && d < indices.shape.rank(); ++d) fits = dy.shape[d] == indices.shape[d];
  check<ShapeError>(fits, kInfo.name, ": dy needs the shape of the indices and one more dimension: dy ", dy.shape,
                    ", indices ", indices.shape);
  out.add({rows, dy.shape.back()}, dy.dtype);
}
void EmbeddingGrad::forward(Inputs in, Outputs& out) const {
  kernels::index_add(exec_of(out[0]), kInfo.name, kernels::View(), 0, in[0], in[1], out[0]);
}
void EmbeddingGrad::backward(Backward& b) const {
  if (b.needs(1)) b.set(1, apply(Embedding(), {b.dout(), b.in(0)}));
}

void IndexSelect::infer(Metas in, OutMetas& out) const {
  const Meta &x = *in[0], &indices = *in[1];
  require_dim(kInfo.name, x, dim);
  require_index(kInfo.name, "indices", indices);
  require_rank(kInfo.name, "indices", indices, 1);
  Shape shape = x.shape;
  shape[dim] = indices.shape[0];
  out.add(shape, x.dtype);
}
void IndexSelect::forward(Inputs in, Outputs& out) const {
  kernels::index_select(exec_of(out[0]), kInfo.name, in[0], dim, in[1], out[0]);
}
void IndexSelect::backward(Backward& b) const {
  if (b.needs(0)) b.set(0, apply(IndexAdd(dim), {zeros_like(b.in_meta(0)), b.in(1), b.dout()}));
}
Cost IndexSelect::cost(Metas in, std::span<const Meta> out) const {
  return of_selection(in, out);
}

void IndexAdd::infer(Metas in, OutMetas& out) const {
  const Meta &x = *in[0], &indices = *in[1], &y = *in[2];
  require_dim(kInfo.name, x, dim);
  require_index(kInfo.name, "indices", indices);
  require_rank(kInfo.name, "indices", indices, 1);
  require_addable(kInfo.name, x, y);
  Shape shape = x.shape;
  shape[dim] = indices.shape[0];
  check<ShapeError>(y.shape == shape, kInfo.name, ": y has the wrong shape: y ", y.shape, ", x ", x.shape, ", indices ",
                    indices.shape, ". It must be ", shape);
  out.add(x.shape, x.dtype);
}
void IndexAdd::forward(Inputs in, Outputs& out) const {
  kernels::index_add(exec_of(out[0]), kInfo.name, in[0], dim, in[1], in[2], out[0]);
}
void IndexAdd::backward(Backward& b) const {
  if (b.needs(0)) b.set(0, b.dout());
  if (b.needs(2)) b.set(2, apply(IndexSelect(dim), {b.dout(), b.in(1)}));
}

void Gather::infer(Metas in, OutMetas& out) const {
  require_indices(kInfo.name, *in[0], *in[1], dim);
  out.add(in[1]->shape, in[0]->dtype);
}
void Gather::forward(Inputs in, Outputs& out) const {
  kernels::gather(exec_of(out[0]), kInfo.name, in[0], dim, in[1], out[0]);
}
void Gather::backward(Backward& b) const {
  if (b.needs(0)) b.set(0, apply(ScatterAdd(dim), {zeros_like(b.in_meta(0)), b.in(1), b.dout()}));
}
Cost Gather::cost(Metas in, std::span<const Meta> out) const {
  return of_selection(in, out);
}

void ScatterAdd::infer(Metas in, OutMetas& out) const {
  const Meta &x = *in[0], &indices = *in[1], &y = *in[2];
  require_indices(kInfo.name, x, indices, dim);
  require_addable(kInfo.name, x, y);
  bool fits = y.shape.rank() == indices.shape.rank();
  for (int d = 0; fits && d < y.shape.rank(); ++d) fits = y.shape[d] >= indices.shape[d];
  check<ShapeError>(fits, kInfo.name, ": y is smaller than the indices: y ", y.shape, ", indices ", indices.shape);
  out.add(x.shape, x.dtype);
}
void ScatterAdd::forward(Inputs in, Outputs& out) const {
  kernels::scatter_add(exec_of(out[0]), kInfo.name, in[0], dim, in[1], in[2], out[0]);
}
void ScatterAdd::backward(Backward& b) const {
  if (b.needs(0)) b.set(0, b.dout());
  if (!b.needs(2)) return;
  const Tensor dy = apply(Gather(dim), {b.dout(), b.in(1)});
  const Shape &read = dy.shape(), &all = b.in_meta(2).shape;
  if (read == all) return b.set(2, dy);
  std::vector<std::pair<std::int64_t, std::int64_t>> unread;  // elements of y that no index took
  for (int d = 0; d < all.rank(); ++d) unread.emplace_back(0, all[d] - read[d]);
  b.set(2, pad(dy, unread));
}

namespace {

/// Applies an op that adds y into x after the promotion of mixed dtypes.
template <class T>
Tensor promoted(const T& op, const Tensor& x, const Tensor& indices, const Tensor& y) {
  const DType d = promote(x.dtype(), y.dtype());
  return apply(op, {to(x, d), indices, to(y, d)});
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& indices) {
  return apply(Embedding(), {weight, indices});
}
Tensor index_select(const Tensor& x, int dim, const Tensor& indices) {
  return apply(IndexSelect(normalize_dim(dim, x.shape(), "index_select")), {x, indices});
}
Tensor index_add(const Tensor& x, int dim, const Tensor& indices, const Tensor& y) {
  return promoted(IndexAdd(normalize_dim(dim, x.shape(), "index_add")), x, indices, y);
}
Tensor gather(const Tensor& x, int dim, const Tensor& indices) {
  return apply(Gather(normalize_dim(dim, x.shape(), "gather")), {x, indices});
}
Tensor scatter_add(const Tensor& x, int dim, const Tensor& indices, const Tensor& y) {
  return promoted(ScatterAdd(normalize_dim(dim, x.shape(), "scatter_add")), x, indices, y);
}

}  // namespace reel
