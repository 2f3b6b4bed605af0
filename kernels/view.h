#pragma once
// What a kernel sees of a tensor: an address, sizes and steps. Who owns it is not the kernel's business.
#include "reel/core/tensor.h"

namespace reel::kernels {

/// Where a kernel runs: on which device, in the order of which stream.
struct Exec {
  Device device;
  Stream stream;
};

/// Shape and strides are in elements; strides may be 0 (repeat) or negative (flip).
struct View {
  View() = default;
  View(const Tensor& t)  // NOLINT(google-explicit-constructor): every kernel call would spell it out
      : data(t.raw()), shape(t.shape()), strides(t.strides()), numel(t.numel()), dtype(t.dtype()), layout(t.layout()) {}

  std::byte* data = nullptr;
  Shape shape;
  Strides strides;
  std::int64_t numel = 0;
  DType dtype = DType::f32;
  Layout layout = Layout::row_major;

  int rank() const { return shape.rank(); }
  bool contiguous() const { return layout == Layout::row_major; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

}  // namespace reel::kernels
