// Scaled dot-product attention (Vaswani et al. 2017), composed of other ops: what they promise
// holds here.
#include <cmath>

#include "reel/autograd/ops/common.h"

namespace reel {
namespace {

void require_operands(const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto fits = [&] {
    return q.rank() >= 2 && k.rank() >= 2 && v.rank() >= 2 && q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2);
  };
  check<ShapeError>(fits(), "attention: needs q [..., tq, d], k [..., tk, d], v [..., tk, dv], but they are: q ",
                    q.shape(), ", k ", k.shape(), ", v ", v.shape());
}

/// True where key j is not later than query i: j <= i.
Tensor causal_mask(std::int64_t tq, std::int64_t tk, Device device) {
  const Tensor ones = Tensor::full({tq, tk}, 1, DType::f32, device);
  return equal(tril(ones), ones);
}

}  // namespace

Tensor attention(
    const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, std::optional<double> scale) {
  require_operands(q, k, v);
  // Scaling q rather than the product keeps half-precision scores in range, and is less work.
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, q.size(-1)))));
  Tensor scores = matmul(q * factor, k, false, true);
  const Tensor hidden = Tensor::full({}, -std::numeric_limits<double>::infinity(), scores.dtype(), scores.device());
  if (mask && mask.dtype() == DType::boolean) {
    scores = where(mask, scores, hidden);
  } else if (mask) {
    require_floating("attention", mask.meta(), "mask");
    scores = scores + to(mask, scores.dtype());
  }
  if (causal) scores = where(causal_mask(q.size(-2), k.size(-2), q.device()), scores, hidden);
  return matmul(softmax(scores, -1), v);
}

}  // namespace reel
