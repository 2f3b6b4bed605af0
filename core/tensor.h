#pragma once
// A block of numbers with a shape. Copying a Tensor shares the numbers.
#include <initializer_list>
#include <span>
#include <vector>

#include "reel/core/dtype.h"
#include "reel/core/shape.h"
#include "reel/core/storage.h"

namespace reel {

/// How the elements lie in memory.
enum class Layout : std::uint8_t {
  row_major,      ///< dense, last dimension fastest
  channels_last,  ///< dense, shape [n, c, h, w] stored as nhwc
  strided,        ///< anything else: a view with gaps, steps or repeats
};

/// What is known about a tensor before it exists.
struct Meta {
  Meta() = default;
  Meta(const Shape& shape, DType dtype, Layout layout = Layout::row_major, Device device = {})
      : shape(shape), numel(reel::numel(shape)), dtype(dtype), layout(layout), device(device) {}

  Shape shape;
  std::int64_t numel = 1;
  DType dtype = DType::f32;
  Layout layout = Layout::row_major;
  Device device;
  double bytes() const { return static_cast<double>(numel) * static_cast<double>(size_of(dtype)); }
};

/// Written by a tape on the tensors it made; nothing in core reads it.
struct TapeMark {
  std::uint64_t tape = 0;
  std::uint32_t slot = 0;
};

struct TensorImpl;

/// A handle. The default one is empty: `if (t)` tells. Knows nothing of tapes: `requires_grad` and
/// `grad` are plain data that a tape reads and writes.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  /// Uninitialised. Throws ShapeError (negative or too many elements), OutOfMemory, DeviceError.
  static Tensor empty(const Meta& meta);
  static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = {});
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = {});
  static Tensor full(const Shape& shape, double value, DType dtype = DType::f32, Device device = {});
  static Tensor scalar(double value, DType dtype = DType::f32) { return full({}, value, dtype); }
  /// 0, 1, ... n-1
  static Tensor arange(std::int64_t n, DType dtype = DType::f32);
  /// Copies `values`, row-major, converting to `dtype`. Throws ShapeError unless the counts agree.
  template <class T>
  static Tensor from(const Shape& shape, std::span<const T> values, DType dtype = dtype_of<T>());
  template <class T>
  static Tensor from(const Shape& shape, const std::vector<T>& values, DType dtype = dtype_of<T>()) {
    return from(shape, std::span<const T>(values), dtype);
  }
  static Tensor from(const Shape& shape, std::initializer_list<float> values, DType dtype = DType::f32) {
    return from(shape, std::span(values.begin(), values.size()), dtype);
  }

  explicit operator bool() const { return static_cast<bool>(impl_); }
  inline const Meta& meta() const;
  inline const Shape& shape() const;
  inline const Strides& strides() const;  ///< in elements
  inline DType dtype() const;
  inline Device device() const;
  inline std::int64_t numel() const;
  inline Layout layout() const;
  int rank() const { return shape().rank(); }
  /// Size of a dimension; -1 is the last.
  std::int64_t size(int dim) const;
  bool is_contiguous() const { return layout() == Layout::row_major; }

  inline std::uint64_t id() const;       ///< unique in the process, never reused
  inline std::uint32_t version() const;  ///< number of in-place changes of the storage
  inline void bump_version() const;
  inline std::byte* raw() const;  ///< address of the first element
  /// Typed address of the first element; throws DTypeError when T is not the dtype.
  template <class T>
  T* data() const {
    if (dtype() != dtype_of<T>()) [[unlikely]]
      fail<DTypeError>("data: the tensor is ", name_of(dtype()), ", but ", name_of(dtype_of<T>()), " was asked for");
    return reinterpret_cast<T*>(raw());
  }
  /// The value of a one-element tensor, converted. Throws ShapeError for any other count.
  double item() const;
  /// All values in row-major order, converted to T.
  template <class T = float>
  std::vector<T> to_vector() const;

  inline bool requires_grad() const;
  /// Asks tapes to give this tensor a gradient. Throws DTypeError unless the dtype is floating.
  const Tensor& set_requires_grad(bool on = true) const;
  Tensor grad() const;  ///< empty until a backward pass has reached this tensor
  void set_grad(const Tensor& g) const;

  /// The same numbers, unknown to every tape.
  Tensor detach() const;
  /// Makes this handle's tensor, and every copy of the handle, show the numbers of `other`.
  /// Shapes must agree. Used to move a module's parameters to another dtype or device.
  void adopt(const Tensor& other) const;

  TensorImpl* impl() const { return impl_.get(); }
  bool unique() const;  ///< no other handle, view or tape shares the handle or the bytes

 private:
  Ref<TensorImpl> impl_;
};

struct TensorImpl : Counted<TensorImpl> {
  TensorImpl(const Meta& meta, const Strides& strides, Ref<Storage> storage, std::int64_t offset);
  TensorImpl(const Meta& meta, Ref<Storage> storage);  // dense, in the layout that meta names

  Meta meta;
  Strides strides;
  Ref<Storage> storage;
  std::int64_t offset;  // in elements
  std::uint64_t id;
  TapeMark mark;
  bool requires_grad = false;
  Tensor grad;
};

inline const Meta& Tensor::meta() const {
  return impl_->meta;
}
inline const Shape& Tensor::shape() const {
  return impl_->meta.shape;
}
inline const Strides& Tensor::strides() const {
  return impl_->strides;
}
inline DType Tensor::dtype() const {
  return impl_->meta.dtype;
}
inline Device Tensor::device() const {
  return impl_->meta.device;
}
inline std::int64_t Tensor::numel() const {
  return impl_->meta.numel;
}
inline Layout Tensor::layout() const {
  return impl_->meta.layout;
}
inline std::uint64_t Tensor::id() const {
  return impl_->id;
}
inline std::uint32_t Tensor::version() const {
  return impl_->storage->version();
}
inline void Tensor::bump_version() const {
  impl_->storage->bump_version();
}
inline bool Tensor::requires_grad() const {
  return impl_ && impl_->requires_grad;
}
inline std::byte* Tensor::raw() const {
  return impl_->storage->data() + impl_->offset * static_cast<std::int64_t>(size_of(dtype()));
}

/// Shape, dtype and values (at most a few at each end), for people.
std::ostream& operator<<(std::ostream& os, const Tensor& t);

}  // namespace reel
