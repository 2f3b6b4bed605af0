#pragma once
// What the files of this folder share: checks with one wording, and layout and exec helpers.
#include "reel/autograd/apply.h"
#include "reel/autograd/backward.h"
#include "reel/autograd/ops.h"
#include "reel/kernels/view.h"

namespace reel {

/// Where the kernels of an op whose output is `t` run.
inline kernels::Exec exec_of(const Tensor& t) {
  return {t.device(), Stream{t.device()}};
}

inline void require_floating(std::string_view op, const Meta& m, const char* what = "input") {
  if (is_floating(m.dtype)) [[likely]]
    return;
  fail<DTypeError>(op, ": needs a floating dtype, but ", what, " is ", name_of(m.dtype),
                   ". Convert it with to(x, DType::f32)");
}
inline void require_same_dtype(
    std::string_view op, const char* a_name, const Meta& a, const char* b_name, const Meta& b) {
  if (a.dtype == b.dtype) [[likely]]
    return;
  fail<DTypeError>(op, ": dtypes differ: ", a_name, " ", name_of(a.dtype), ", ", b_name, " ", name_of(b.dtype),
                   ". Convert one with to(x, dtype)");
}
inline void require_rank(std::string_view op, const char* name, const Meta& m, int rank) {
  check<ShapeError>(m.shape.rank() == rank, op, ": ", name, " needs ", rank, " dimensions, but its shape is ", m.shape);
}
inline void require_index(std::string_view op, const char* name, const Meta& m) {
  check<DTypeError>(m.dtype == DType::i64 || m.dtype == DType::i32, op, ": ", name, " must be i64 or i32, but is ",
                    name_of(m.dtype));
}

/// Layout for an output of `shape` that is computed element by element from `m`.
inline Layout layout_like(const Meta& m, const Shape& shape) {
  return m.layout == Layout::channels_last && m.shape == shape ? Layout::channels_last : Layout::row_major;
}
/// A tensor like `m` that kernels can write: dense, on `device`.
inline Tensor empty_like(const Tensor& t) {
  return Tensor::empty(Meta(t.shape(), t.dtype(), layout_like(t.meta(), t.shape()), t.device()));
}

}  // namespace reel
