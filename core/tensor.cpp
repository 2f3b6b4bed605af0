#include "reel/core/tensor.h"

#include <algorithm>
#include <cstring>
#include <ostream>

#include "reel/core/view.h"

namespace reel {
namespace {

std::uint64_t next_id() {
  constexpr std::uint64_t kBatch = std::uint64_t{1} << 20;
  static std::atomic<std::uint64_t> batches{0};
  thread_local std::uint64_t next = 0, end = 0;
  if (next == end) {
    next = batches.fetch_add(1) * kBatch + 1;
    end = next + kBatch;
  }
  return next++;
}

/// Calls fn(position in memory) for each element in row-major order.
template <class Fn>
void for_each_offset(const Shape& shape, const Strides& strides, Fn&& fn) {
  const std::int64_t n = numel(shape);
  Dims index = Dims::filled(shape.rank(), 0);
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    fn(at);
    for (int d = shape.rank() - 1; d >= 0; --d) {
      at += strides[d];
      if (++index[d] < shape[d]) break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

void require_host(const Tensor& t, const char* what) {
  check<DeviceError>(t.device() == Device::cpu(), what, ": the tensor lives on ", t.device(),
                     ". Copy it with to(x, Device::cpu()) first");
}

}  // namespace

TensorImpl::TensorImpl(const Meta& meta, const Strides& strides, Ref<Storage> storage, std::int64_t offset)
    : meta(meta), strides(strides), storage(std::move(storage)), offset(offset), id(next_id()) {}

TensorImpl::TensorImpl(const Meta& m, Ref<Storage> bytes)
    : meta(m), storage(std::move(bytes)), offset(0), id(next_id()) {
  if (m.layout == Layout::channels_last)
    strides = channels_last(m.shape);
  else
    set_row_major(m.shape, strides);
}

Tensor Tensor::empty(const Meta& meta) {
  if (meta.numel >= std::int64_t{1} << 58) [[unlikely]]
    fail<OutOfMemory>("out of memory: asked for a tensor ", meta.shape, " of ", meta.numel, " elements on ",
                      meta.device);
  const auto bytes = static_cast<std::size_t>(meta.numel) * size_of(meta.dtype);
  return Tensor(Ref<TensorImpl>::make(meta, Ref<Storage>::make(bytes, meta.device)));
}
Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  return empty(Meta(shape, dtype, Layout::row_major, device));
}
Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
  Tensor t = empty(shape, dtype, device);
  if (t.numel()) std::memset(t.raw(), 0, static_cast<std::size_t>(t.meta().bytes()));
  return t;
}
Tensor Tensor::full(const Shape& shape, double value, DType dtype, Device device) {
  Tensor t = empty(shape, dtype, device);
  visit(dtype, [&]<class T>() { std::fill_n(t.data<T>(), t.numel(), convert<T>(value)); });
  return t;
}
Tensor Tensor::arange(std::int64_t n, DType dtype) {
  Tensor t = empty({n}, dtype);
  visit(dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < n; ++i) t.data<T>()[i] = convert<T>(i);
  });
  return t;
}

template <class T>
Tensor Tensor::from(const Shape& shape, std::span<const T> values, DType dtype) {
  Tensor t = empty(shape, dtype);
  check<ShapeError>(t.numel() == static_cast<std::int64_t>(values.size()), "Tensor::from: shape ", shape, " holds ",
                    t.numel(), " values, but ", values.size(), " were given");
  visit(dtype, [&]<class D>() {
    for (std::size_t i = 0; i < values.size(); ++i) t.data<D>()[i] = convert<D>(values[i]);
  });
  return t;
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  require_host(*this, "to_vector");
  std::vector<T> v;
  v.reserve(static_cast<std::size_t>(numel()));
  visit(dtype(), [&]<class S>() {
    for_each_offset(shape(), strides(), [&](std::int64_t at) { v.push_back(convert<T>(data<S>()[at])); });
  });
  return v;
}

#define REEL_INSTANTIATE(T)                                              \
  template Tensor Tensor::from(const Shape&, std::span<const T>, DType); \
  template std::vector<T> Tensor::to_vector<T>() const;
REEL_INSTANTIATE(bool)
REEL_INSTANTIATE(std::uint8_t)
REEL_INSTANTIATE(std::int32_t)
REEL_INSTANTIATE(std::int64_t)
REEL_INSTANTIATE(Half)
REEL_INSTANTIATE(BFloat16)
REEL_INSTANTIATE(float)
REEL_INSTANTIATE(double)
#undef REEL_INSTANTIATE

std::int64_t Tensor::size(int dim) const {
  return shape()[normalize_dim(dim, shape(), "size")];
}

double Tensor::item() const {
  require_host(*this, "item");
  check<ShapeError>(numel() == 1, "item: needs one element, but the shape is ", shape());
  return visit(dtype(), [&]<class T>() { return convert<double>(*data<T>()); });
}

const Tensor& Tensor::set_requires_grad(bool on) const {
  check<DTypeError>(!on || is_floating(dtype()), "requires_grad: needs a floating dtype, but the tensor is ",
                    name_of(dtype()));
  impl_->requires_grad = on;
  return *this;
}
Tensor Tensor::grad() const {
  return impl_ ? impl_->grad : Tensor{};
}
void Tensor::set_grad(const Tensor& g) const {
  check<ShapeError>(!g || g.shape() == shape(), "set_grad: shapes differ: tensor ", shape(), ", gradient ",
                    g ? g.shape() : Shape{});
  impl_->grad = g;
}

Tensor Tensor::detach() const {
  return Tensor(Ref<TensorImpl>::make(meta(), strides(), impl_->storage, impl_->offset));
}
void Tensor::adopt(const Tensor& other) const {
  check<ShapeError>(shape() == other.shape(), "adopt: shapes differ: ", shape(), ", ", other.shape());
  impl_->meta = other.meta();
  impl_->strides = other.strides();
  impl_->storage = other.impl()->storage;
  impl_->offset = other.impl()->offset;
}
bool Tensor::unique() const {
  return impl_.unique() && impl_->storage.unique();
}

std::ostream& operator<<(std::ostream& os, const Tensor& t) {
  if (!t) return os << "tensor(empty)";
  os << "tensor" << t.shape() << ' ' << name_of(t.dtype());
  if (t.device() != Device::cpu()) return os << " on " << t.device();
  constexpr std::size_t kEnds = 6;
  os << " {";
  if (t.numel() <= 1000) {
    const std::vector<double> v = t.to_vector<double>();
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (i == kEnds && v.size() > 2 * kEnds) {
        os << ", ...";
        i = v.size() - kEnds;
      }
      os << (i ? ", " : "") << v[i];
    }
  } else {
    os << t.numel() << " values";
  }
  return os << '}';
}

}  // namespace reel
