#include "reel/autograd/ops/matmul.h"

#include "reel/autograd/ops/common.h"
#include "reel/kernels/gemm.h"

namespace reel {
namespace {

Shape leading(const Shape& s) {
  Shape lead = s;
  lead.erase(lead.rank() - 1);
  lead.erase(lead.rank() - 1);
  return lead;
}
const char* mark(bool transposed) {
  return transposed ? " (transposed)" : "";
}
Tensor shaped(const Tensor& g, const Meta& m) {
  return g.shape() == m.shape ? g : sum_to(g, m.shape);
}
/// [..., n] as [rows, n]
Tensor as_rows(const Tensor& x) {
  return x.rank() == 2 ? x : reshape(x, {-1, x.shape().back()});
}

}  // namespace

void MatMul::infer(Metas in, OutMetas& out) const {
  const Meta &a = *in[0], &b = *in[1];
  const Shape &sa = a.shape, &sb = b.shape;
  check<ShapeError>(sa.rank() >= 2 && sb.rank() >= 2, "matmul: needs matrices, but got a ", sa, ", b ", sb);
  const int ra = sa.rank(), rb = sb.rank();
  const std::int64_t m = sa[ra - (ta ? 1 : 2)], k = sa[ra - (ta ? 2 : 1)], n = sb[rb - (tb ? 2 : 1)];
  check<ShapeError>(k == sb[rb - (tb ? 1 : 2)], "matmul: inner sizes differ: a ", sa, mark(ta), ", b ", sb, mark(tb));
  require_same_dtype("matmul", "a", a, "b", b);
  require_floating("matmul", a);
  if (ra == 2 && rb == 2) return out.add({m, n}, a.dtype);
  Shape shape = broadcast(leading(sa), leading(sb), "matmul");
  shape.push_back(m);
  shape.push_back(n);
  out.add(shape, a.dtype);
}
void MatMul::forward(Inputs in, Outputs& out) const {
  kernels::matmul(exec_of(out[0]), in[0], ta, in[1], tb, {}, out[0]);
}
// c = A B with A = op(a), B = op(b)  =>  dA = dc B^T, dB = A^T dc; transposed once more where a, b are.
void MatMul::backward(Backward& g) const {
  const Tensor& dc = g.dout();
  if (g.needs(0)) {
    const Tensor& b = g.in(1);
    g.set(0, shaped(ta ? matmul(b, dc, tb, true) : matmul(dc, b, false, !tb), g.in_meta(0)));
  }
  if (g.needs(1)) {
    const Tensor& a = g.in(0);
    g.set(1, shaped(tb ? matmul(dc, a, true, ta) : matmul(a, dc, !ta, false), g.in_meta(1)));
  }
}
Cost MatMul::cost(Metas in, std::span<const Meta> out) const {
  Cost c = Op::cost(in, out);
  const Shape& a = in[0]->shape;
  c.flops = 2 * static_cast<double>(out[0].numel) * static_cast<double>(a[a.rank() - (ta ? 2 : 1)]);
  return c;
}

void Linear::infer(Metas in, OutMetas& out) const {
  const Meta &x = *in[0], &w = *in[1];
  check<ShapeError>(w.shape.rank() == 2 && x.shape.rank() >= 1 && x.shape.back() == w.shape[1],
                    "linear: x [..., in] and weight [out, in] do not fit: x ", x.shape, ", weight ", w.shape);
  require_same_dtype("linear", "x", x, "weight", w);
  require_floating("linear", x);
  if (in.size() > 2 && in[2]) {
    check<ShapeError>(in[2]->shape == Shape{w.shape[0]}, "linear: bias must be [", w.shape[0], "] for weight ", w.shape,
                      ", but is ", in[2]->shape);
    require_same_dtype("linear", "x", x, "bias", *in[2]);
  }
  Shape shape = x.shape;
  shape[shape.rank() - 1] = w.shape[0];
  out.add(shape, x.dtype);
}
void Linear::forward(Inputs in, Outputs& out) const {
  kernels::View x = in[0], y = out[0];
  const auto as_matrix = [](kernels::View& v) {
    if (v.rank() == 1) {
      v.shape.insert(0, 1);
      v.strides.insert(0, v.shape[1]);
    }
  };
  as_matrix(x);
  as_matrix(y);
  const bool biased = in.size() > 2 && in[2];
  const Tensor bias = biased && !in[2].is_contiguous() ? contiguous(in[2]) : biased ? in[2] : Tensor{};
  kernels::matmul(exec_of(out[0]), x, false, in[1], true, bias ? kernels::View(bias) : kernels::View{}, y);
}
void Linear::backward(Backward& b) const {
  const Tensor& dy = b.dout();
  if (b.needs(0)) b.set(0, matmul(dy, b.in(1)));
  if (b.needs(1) || b.needs(2)) {
    const Tensor rows = as_rows(dy);
    if (b.needs(1)) b.set(1, matmul(rows, as_rows(b.in(0)), true, false));
    if (b.needs(2)) b.set(2, sum(rows, {0}));
  }
}
Cost Linear::cost(Metas in, std::span<const Meta> out) const {
  Cost c = Op::cost(in, out);
  c.flops = 2 * static_cast<double>(out[0].numel) * static_cast<double>(in[1]->shape[1]);
  return c;
}

Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  if (a.dtype() != b.dtype()) {
    const DType d = promote(a.dtype(), b.dtype());
    return matmul(to(a, d), to(b, d), transpose_a, transpose_b);
  }
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (!row && !column) [[likely]]
    return apply(MatMul(transpose_a, transpose_b), {a, b});
  check<ShapeError>(!(row && transpose_a) && !(column && transpose_b), "matmul: a vector cannot be transposed: a ",
                    a.shape(), ", b ", b.shape());
  Tensor y = apply(MatMul(transpose_a, transpose_b), {row ? unsqueeze(a, 0) : a, column ? unsqueeze(b, 1) : b});
  if (column) y = squeeze(y, -1);
  return row ? squeeze(y, column ? -1 : -2) : y;
}
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return bias ? apply(Linear(), {x, weight, bias}) : apply(Linear(), {x, weight});
}

}  // namespace reel
