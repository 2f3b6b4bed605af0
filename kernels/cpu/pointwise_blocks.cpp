// Reading and writing blocks of any dtype and step as float or double, or as themselves.
#include "reel/kernels/cpu/convert_impl.h"
#include "reel/kernels/cpu/pointwise_impl.h"

namespace reel::kernels {
namespace {

template <class T, class C>
void read_run(const T* x, std::int64_t step, std::int64_t n, C* y) {
  if (step == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) convert_into(y[i], x[i]);
  } else if (step == 0) {
    std::fill_n(y, n, convert<C>(*x));
  } else {
    for (std::int64_t i = 0; i < n; ++i) convert_into(y[i], x[i * step]);
  }
}
template <class T, class C>
void write_run(const C* x, T* y, std::int64_t step, std::int64_t n) {
  if (step == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) convert_into(y[i], x[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) convert_into(y[i * step], x[i]);
  }
}

/// Calls fn with the storage types whose functions are computed in C: C itself, and the half types for float.
template <class C, class Fn>
void visit_stored(DType dtype, const Fn& fn) {
  if constexpr (std::is_same_v<C, float>) {
    if (dtype == DType::f16) return fn.template operator()<Half>();
    if (dtype == DType::bf16) return fn.template operator()<BFloat16>();
  }
  if (dtype == dtype_of<C>()) return fn.template operator()<C>();
  fail<DTypeError>("pointwise: no kernel reads ", name_of(dtype), " as ", name_of(dtype_of<C>()));
}

}  // namespace

template <class C>
const C* fetch(const Run& r, std::int64_t first, std::int64_t n, C* buffer) {
  if (r.dtype == dtype_of<C>() && r.step == 1) return reinterpret_cast<const C*>(r.data) + first;
  visit_stored<C>(r.dtype,
                  [&]<class T>() { read_run(reinterpret_cast<const T*>(r.data) + first * r.step, r.step, n, buffer); });
  return buffer;
}
template <class C>
void store(const Run& r, std::int64_t first, std::int64_t n, const C* values) {
  visit_stored<C>(r.dtype,
                  [&]<class T>() { write_run(values, reinterpret_cast<T*>(r.data) + first * r.step, r.step, n); });
}

#define REEL_INSTANTIATE(C)                                            \
  template const C* fetch(const Run&, std::int64_t, std::int64_t, C*); \
  template void store(const Run&, std::int64_t, std::int64_t, const C*);
REEL_INSTANTIATE(bool)
REEL_INSTANTIATE(std::uint8_t)
REEL_INSTANTIATE(std::int32_t)
REEL_INSTANTIATE(std::int64_t)
REEL_INSTANTIATE(float)
REEL_INSTANTIATE(double)
#undef REEL_INSTANTIATE

}  // namespace reel::kernels
