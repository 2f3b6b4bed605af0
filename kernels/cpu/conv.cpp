// Convolution on the CPU: brings the operands into the form that the computing code wants (dense
// nhwc, f32 or f64), and chooses that code.
#include "reel/kernels/conv.h"

#include <optional>

#include "reel/kernels/cpu/conv_impl.h"
#include "reel/kernels/cpu/dense_impl.h"

namespace reel::kernels {
namespace {

ConvSizes sizes(const View& x, const View& weight, const View& y, const ConvSteps& steps) {
  return {steps,      x.shape[0], x.shape[1], x.shape[2],      x.shape[3],
          y.shape[1], y.shape[2], y.shape[3], weight.shape[2], weight.shape[3]};
}

/// Calls fn with the type that a convolution of `dtype` computes in.
template <class Fn>
void compute_in(DType dtype, const Fn& fn) {
  if (dtype == DType::f64)
    fn.template operator()<double>();
  else
    fn.template operator()<float>();
}

template <class T>
void forward(const ConvSizes& s, const T* x, const T* weight, const T* bias, T* y) {
#ifdef REEL_WITH_ONEDNN
  if constexpr (std::is_same_v<T, float>)
    if (conv_onednn(s, x, weight, bias, y)) return;
#endif
  conv_gemm(s, x, weight, bias, y);
}

template <class T>
void data_grad(const ConvSizes& s, const T* dy, const T* weight, T* dx) {
#ifdef REEL_WITH_ONEDNN
  if constexpr (std::is_same_v<T, float>)
    if (conv_onednn_data_grad(s, dy, weight, dx)) return;
#endif
  conv_gemm_data_grad(s, dy, weight, dx);
}

template <class T>
void weight_grad(const ConvSizes& s, const T* x, const T* dy, T* dw) {
#ifdef REEL_WITH_ONEDNN
  if constexpr (std::is_same_v<T, float>)
    if (conv_onednn_weight_grad(s, x, dy, dw)) return;
#endif
  conv_gemm_weight_grad(s, x, dy, dw);
}

}  // namespace

void conv2d(
    const Exec& exec, const View& x, const View& weight, const View* bias, const View& y, const ConvSteps& steps) {
  if (y.numel == 0) return;
  compute_in(y.dtype, [&]<class T>() {
    constexpr DType t = dtype_of<T>();
    const auto dx = Dense::read(exec, x, t, Layout::channels_last);
    const auto dw = Dense::read(exec, weight, t, Layout::row_major);
    std::optional<Dense> db;
    if (bias) db = Dense::read(exec, *bias, t, Layout::row_major);
    const Dense dy(y, t, Layout::channels_last);
    forward<T>(sizes(x, weight, y, steps), dx.as<T>(), dw.as<T>(), db ? db->as<T>() : nullptr, dy.as<T>());
    dy.write(exec);
  });
}

void conv2d_data_grad(const Exec& exec, const View& dy, const View& weight, const View& dx, const ConvSteps& steps) {
  if (dx.numel == 0) return;
  compute_in(dx.dtype, [&]<class T>() {
    constexpr DType t = dtype_of<T>();
    const auto y = Dense::read(exec, dy, t, Layout::channels_last);
    const auto w = Dense::read(exec, weight, t, Layout::row_major);
    const Dense x(dx, t, Layout::channels_last);
    data_grad<T>(sizes(dx, weight, dy, steps), y.as<T>(), w.as<T>(), x.as<T>());
    x.write(exec);
  });
}

void conv2d_weight_grad(const Exec& exec, const View& x, const View& dy, const View& dw, const ConvSteps& steps) {
  if (dw.numel == 0) return;
  if (x.numel == 0 || dy.numel == 0) return fill(exec, dw, 0);
  compute_in(dw.dtype, [&]<class T>() {
    constexpr DType t = dtype_of<T>();
    const auto a = Dense::read(exec, x, t, Layout::channels_last);
    const auto b = Dense::read(exec, dy, t, Layout::channels_last);
    const Dense w(dw, t, Layout::row_major);
    weight_grad<T>(sizes(x, dw, dy, steps), a.as<T>(), b.as<T>(), w.as<T>());
    w.write(exec);
  });
}

}  // namespace reel::kernels
