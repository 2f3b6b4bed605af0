#pragma once
// Operands for kernels that want one layout: the view itself where it has it, else a copy.
#include "reel/kernels/pointwise.h"
#include "reel/kernels/view.h"

namespace reel::kernels {

/// Whether `v` lies in memory as `layout` says; strides of single elements never matter.
inline bool lies_as(const View& v, Layout layout) {
  const Strides wanted = layout == Layout::channels_last ? channels_last(v.shape) : row_major(v.shape);
  for (int d = 0; d < v.rank(); ++d)
    if (v.shape[d] != 1 && v.strides[d] != wanted[d]) return false;
  return true;
}

/// An operand, dense, in a dtype and layout. An input is `read` first, an output is written back by
/// `write`.
class Dense {
 public:
  Dense(const View& v, DType dtype, Layout layout) : original_(v), at_(v.data) {
    if (v.dtype == dtype && lies_as(v, layout)) return;
    copy_ = Tensor::empty(Meta(v.shape, dtype, layout));
    at_ = copy_.raw();
  }
  static Dense read(const Exec& exec, const View& v, DType dtype, Layout layout) {
    Dense d(v, dtype, layout);
    if (d.copy_) copy(exec, v, d.copy_);
    return d;
  }
  void write(const Exec& exec) const {
    if (copy_) copy(exec, copy_, original_);
  }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(at_);
  }

 private:
  View original_;
  Tensor copy_;  // empty where the view itself will do
  std::byte* at_;
};

}  // namespace reel::kernels
