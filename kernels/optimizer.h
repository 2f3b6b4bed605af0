#pragma once
// The updates of all parameters in one pass, and the two small passes around it. Bound by bytes:
// AdamW reads parameter, gradient and two moments and writes three of them, 28 bytes for an f32
// parameter.
#include <limits>
#include <span>
#include <vector>

#include "reel/kernels/view.h"

namespace reel::kernels {

/// One parameter, as an update sees it. All arrays are dense and in the same order.
struct UpdateItem {
  std::byte* value = nullptr;       ///< numbers of dtype `dtype` that are changed
  std::byte* half = nullptr;        ///< their copy in `half_dtype`, written in the same pass; or null
  const std::byte* grad = nullptr;  ///< of dtype `dtype`; null: the parameter is left as it is
  std::byte* first = nullptr;       ///< momentum, or the mean of the gradient
  std::byte* second = nullptr;      ///< mean of the squared gradient
  std::int64_t numel = 0;
  DType dtype = DType::f32;  ///< f32 or f64
  DType half_dtype = DType::f16;
  std::int64_t step = 1;   ///< number of this update, from 1: the first does not read the momentum
  double correction1 = 1;  ///< Adam: 1 - beta1^step
  double correction2 = 1;  ///< Adam: 1 - beta2^step
};

/// What turns the stored sum of gradients into the gradient that is applied: g / divisor *
/// coefficient, then clamped to [-limit, limit]. The stored one is not changed.
struct GradientScale {
  double divisor = 1;      ///< number of terms, times the loss scale
  double coefficient = 1;  ///< of clipping by norm, at most 1
  double limit = std::numeric_limits<double>::infinity();
};

/// Square root of the sum of squares of all gradients, in double; not finite exactly where a
/// gradient is not. Finite gradients never overflow on the way. `parts` is scratch of any size,
/// kept by the caller.
double gradient_norm(const Exec&, std::span<const UpdateItem> items, std::vector<double>& parts);

/// *total += *term, and *total = 0: the window's count, one f64 in the memory of the device.
void add_count(const Exec&, double* total, const double* term);
void clear_count(const Exec&, double* total);

struct SgdStep {
  double lr = 0, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};
/// g += weight_decay p;  b = step 1 ? g : momentum b + (1 - dampening) g;
/// p -= lr (nesterov ? g + momentum b : b). Without momentum b is g itself.
void sgd(const Exec&, std::span<const UpdateItem> items, const GradientScale& scale, const SgdStep& step);

struct AdamStep {
  double lr = 0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool decoupled = false;  ///< AdamW: the decay acts on the parameter, not on the gradient
};
/// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
/// p -= lr (m / correction1) / (sqrt(v / correction2) + eps)   (Kingma and Ba 2015; Loshchilov and
/// Hutter 2019)
void adam(const Exec&, std::span<const UpdateItem> items, const GradientScale& scale, const AdamStep& step);

/// value = half, except where value rounds to half: so a copy that somebody wrote to wins, and a
/// copy that nobody touched does not cost the bits that it cannot hold.
void refresh(const Exec&, const UpdateItem& item);

/// first += (1 - decay) (value - first), for the moving average of weights.
void average(const Exec&, std::span<const UpdateItem> items, double decay);

}  // namespace reel::kernels
