// Updates of all parameters on the CPU. The parameters are laid end to end and cut into pieces of
// equal size; a piece goes through the cache once. Loops are free functions of restricted pointers,
// since that is the form which compilers vectorise.
#include "reel/kernels/optimizer.h"

#include <cmath>

#include "reel/core/parallel.h"

namespace reel::kernels {
namespace {

constexpr std::int64_t kPiece = 1 << 14;

/// A stretch of one parameter.
struct Run {
  const UpdateItem& item;
  std::int64_t begin, n;
  template <class T>
  T* at(std::byte* p) const {
    return reinterpret_cast<T*>(p) + begin;
  }
  template <class T>
  const T* grad() const {
    return reinterpret_cast<const T*>(item.grad) + begin;
  }
};

std::int64_t total_of(std::span<const UpdateItem> items) {
  std::int64_t n = 0;
  for (const UpdateItem& item : items) n += item.numel;
  return n;
}

/// Calls fn(run) for the parameters in [begin, end) of the concatenation that have a gradient.
template <class Fn>
void walk(std::span<const UpdateItem> items, std::int64_t begin, std::int64_t end, const Fn& fn) {
  std::int64_t at = 0;
  for (const UpdateItem& item : items) {
    const std::int64_t from = std::max(begin, at), to = std::min(end, at + item.numel);
    if (from < to && item.grad) fn(Run{item, from - at, to - from});
    at += item.numel;
    if (at >= end) break;
  }
}

template <class Fn>
void for_each_run(std::span<const UpdateItem> items, const Fn& fn) {
  parallel_for(total_of(items), kPiece, [&](std::int64_t begin, std::int64_t end) { walk(items, begin, end, fn); });
}

template <class H>
void store_half_row(const float* __restrict value, H* __restrict half, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) half[i].bits = H(value[i]).bits;
}

/// The half copy of a run that was just written, and is therefore still in the cache.
void store_half(const Run& r) {
  if (!r.item.half) return;
  const float* value = r.at<float>(r.item.value);
  if (r.item.half_dtype == DType::f16)
    store_half_row(value, r.at<Half>(r.item.half), r.n);
  else
    store_half_row(value, r.at<BFloat16>(r.item.half), r.n);
}

/// A GradientScale, with its divisions done.
struct ReadyScale {
  explicit ReadyScale(const GradientScale& s)
      : divisor(s.divisor / s.coefficient), factor(s.coefficient / s.divisor), limit(s.limit) {}
  double divisor, factor, limit;
};

/// The gradient that is applied, for a stored one. Single gradients are scaled in double: a mean
/// over n terms is then rounded once, and no factor can leave the range.
template <class T>
struct Scaler {
  explicit Scaler(const ReadyScale& s) : divisor(s.divisor), factor(s.factor), limit(static_cast<T>(s.limit)) {}
  T operator()(T g) const {
    if constexpr (std::is_same_v<T, float>)
      g = static_cast<float>(static_cast<double>(g) * factor);
    else
      g = g / divisor;
    g = g < -limit ? -limit : g;
    return g > limit ? limit : g;
  }
  double divisor, factor;
  T limit;
};

template <class T>
void sgd_row(
    const Scaler<T> scaled, const T lr, const T decay, const T* __restrict grad, T* __restrict value, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) value[i] -= lr * (scaled(grad[i]) + decay * value[i]);
}

template <class T, bool Nesterov>
void momentum_row(const Scaler<T> scaled,
                  const T lr,
                  const T momentum,
                  const T keep,
                  const T gain,
                  const T decay,
                  const T* __restrict grad,
                  T* __restrict value,
                  T* __restrict buffer,
                  std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = scaled(grad[i]) + decay * value[i];
    const T b = keep * buffer[i] + gain * g;
    buffer[i] = b;
    value[i] -= lr * (Nesterov ? g + momentum * b : b);
  }
}

template <class T>
void sgd_run(const Run& r, const ReadyScale& scale, const SgdStep& s) {
  const Scaler<T> scaled(scale);
  const auto lr = static_cast<T>(s.lr), decay = static_cast<T>(s.weight_decay), momentum = static_cast<T>(s.momentum);
  const T* grad = r.grad<T>();
  T* value = r.at<T>(r.item.value);
  if (s.momentum == 0) return sgd_row(scaled, lr, decay, grad, value, r.n);
  const bool fresh = r.item.step == 1;  // the buffer holds zeros then
  const T keep = fresh ? T{0} : momentum, gain = fresh ? T{1} : static_cast<T>(1 - s.dampening);
  T* buffer = r.at<T>(r.item.first);
  if (s.nesterov)
    momentum_row<T, true>(scaled, lr, momentum, keep, gain, decay, grad, value, buffer, r.n);
  else
    momentum_row<T, false>(scaled, lr, momentum, keep, gain, decay, grad, value, buffer, r.n);
}

template <class T>
struct AdamNumbers {
  T beta1, gain1, beta2, gain2;  // gain = 1 - beta
  T step, root, eps;             // lr / correction1, 1 / sqrt(correction2)
  T keep, l2;                    // the decoupled decay of the parameter, the decay in the gradient
};

template <class T>
void adam_row(const Scaler<T> scaled,
              const AdamNumbers<T> a,
              const T* __restrict grad,
              T* __restrict value,
              T* __restrict mean,
              T* __restrict square,
              std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T p = value[i], g = scaled(grad[i]) + a.l2 * p;
    const T m = a.beta1 * mean[i] + a.gain1 * g;
    const T v = a.beta2 * square[i] + a.gain2 * g * g;
    mean[i] = m;
    square[i] = v;
    value[i] = a.keep * p - a.step * m / (std::sqrt(v) * a.root + a.eps);
  }
}

template <class T>
void adam_run(const Run& r, const ReadyScale& scale, const AdamStep& s) {
  const auto as = [](double v) { return static_cast<T>(v); };
  const AdamNumbers<T> a{as(s.beta1),
                         as(1 - s.beta1),
                         as(s.beta2),
                         as(1 - s.beta2),
                         as(s.lr / r.item.correction1),
                         as(1 / std::sqrt(r.item.correction2)),
                         as(s.eps),
                         as(s.decoupled ? 1 - s.lr * s.weight_decay : 1),
                         as(s.decoupled ? 0 : s.weight_decay)};
  adam_row(Scaler<T>(scale), a, r.grad<T>(), r.at<T>(r.item.value), r.at<T>(r.item.first), r.at<T>(r.item.second), r.n);
}

template <class T>
double sum_of_squares(const T* x, std::int64_t n) {
  double s = 0;
#pragma omp simd reduction(+ : s)
  for (std::int64_t i = 0; i < n; ++i) s += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return s;
}

/// Calls fn(pointer, n) with the gradient of a run in its own type.
template <class Fn>
void with_gradient(const Run& r, const Fn& fn) {
  if (r.item.dtype == DType::f32)
    fn(r.grad<float>(), r.n);
  else
    fn(r.grad<double>(), r.n);
}

/// The norm where a sum of squares leaves the range of double: only f64 gradients beyond 1e154, or
/// a gradient that is not finite, come here.
double scaled_norm(std::span<const UpdateItem> items) {
  double largest = 0, sum = 0;
  const auto each = [&](const auto& fn) {
    walk(items, 0, total_of(items), [&](const Run& r) {
      with_gradient(r, [&](const auto* g, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) fn(std::abs(static_cast<double>(g[i])));
      });
    });
  };
  each([&](double g) { largest = g <= largest ? largest : g; });  // NaN is not below anything: it wins
  if (!std::isfinite(largest)) return largest;
  each([&](double g) { sum += (g / largest) * (g / largest); });
  return largest * std::sqrt(sum);
}

template <class H>
void refresh_row(const H* half, float* value, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    if (H(value[i]).bits != half[i].bits) value[i] = static_cast<float>(half[i]);
}

template <class T>
void average_row(const T gain, const T* __restrict value, T* __restrict mean, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) mean[i] += gain * (value[i] - mean[i]);
}

}  // namespace

double gradient_norm(const Exec&, std::span<const UpdateItem> items, std::vector<double>& parts) {
  const std::int64_t total = total_of(items);
  parts.assign(static_cast<std::size_t>((total + kPiece - 1) / kPiece), 0.0);
  parallel_for(total, kPiece, [&](std::int64_t begin, std::int64_t end) {
    double s = 0;
    walk(items, begin, end,
         [&](const Run& r) { with_gradient(r, [&](const auto* g, std::int64_t n) { s += sum_of_squares(g, n); }); });
    parts[static_cast<std::size_t>(begin / kPiece)] = s;
  });
  double sum = 0;
  for (const double s : parts) sum += s;  // in order: the same bits for any number of threads
  return std::isfinite(sum) ? std::sqrt(sum) : scaled_norm(items);
}

void add_count(const Exec&, double* total, const double* term) {
  *total += *term;
}
void clear_count(const Exec&, double* total) {
  *total = 0;
}

void sgd(const Exec&, std::span<const UpdateItem> items, const GradientScale& scale, const SgdStep& step) {
  const ReadyScale ready(scale);
  for_each_run(items, [&](const Run& r) {
    if (r.item.dtype == DType::f32)
      sgd_run<float>(r, ready, step);
    else
      sgd_run<double>(r, ready, step);
    store_half(r);
  });
}

void adam(const Exec&, std::span<const UpdateItem> items, const GradientScale& scale, const AdamStep& step) {
  const ReadyScale ready(scale);
  for_each_run(items, [&](const Run& r) {
    if (r.item.dtype == DType::f32)
      adam_run<float>(r, ready, step);
    else
      adam_run<double>(r, ready, step);
    store_half(r);
  });
}

void refresh(const Exec&, const UpdateItem& item) {
  auto* value = reinterpret_cast<float*>(item.value);
  if (item.half_dtype == DType::f16)
    refresh_row(reinterpret_cast<const Half*>(item.half), value, item.numel);
  else
    refresh_row(reinterpret_cast<const BFloat16*>(item.half), value, item.numel);
}

void average(const Exec&, std::span<const UpdateItem> items, double decay) {
  for_each_run(items, [&](const Run& r) {
    if (r.item.dtype == DType::f32)
      average_row(static_cast<float>(1 - decay), r.at<float>(r.item.value), r.at<float>(r.item.first), r.n);
    else
      average_row(1 - decay, r.at<double>(r.item.value), r.at<double>(r.item.first), r.n);
  });
}

}  // namespace reel::kernels
