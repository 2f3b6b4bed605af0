#include "reel/optim/micro_batch.h"

#include <cmath>

#include "reel/autograd/ops.h"
#include "reel/optim/optimizer.h"

namespace reel::optim {
namespace {

void require_one(const char* what, const char* name, const Tensor& t) {
  check<ShapeError>(t && t.numel() == 1, "MicroBatch: ", what, ": the ", name, " must be one number, but its shape is ",
                    t ? t.shape() : Shape{0});
}
void require_count(const char* what, double count) {
  check<ValueError>(count >= 0 && std::isfinite(count), "MicroBatch: ", what,
                    ": the count must be finite and not negative, but is ", count);
}

}  // namespace

void MicroBatch::require_current(const char* what) const {
  check<StateError>(optimizer_->serial_ == serial_, "MicroBatch: ", what, ": micro-batch ", index_ + 1, " of ", of_,
                    " is over. Use the one that next() returned last");
}

Tensor MicroBatch::add(const Tensor& sum, const Tensor& count) const {
  require_current("add");
  require_one("add", "sum", sum);
  require_one("add", "count", count);
  const Tensor& window = optimizer_->count_;
  check<DeviceError>(count.device() == window.device(), "MicroBatch: add: the count lives on ", count.device(),
                     ", but the parameters on ", window.device());
  const NoGrad off;
  kernels::add_count(optimizer_->exec(), window.data<double>(), to(count, DType::f64).data<double>());
  optimizer_->added_ = true;
  return sum;
}

Tensor MicroBatch::add(const Tensor& sum, double count) const {
  require_count("add", count);
  return add(sum, Tensor::full({}, count, DType::f64, optimizer_->count_.device()));
}

Tensor MicroBatch::auxiliary(const Tensor& scalar, const Tensor& count) const {
  require_current("auxiliary");
  require_one("auxiliary", "scalar", scalar);
  require_one("auxiliary", "count", count);
  // Half numbers are widened first: a count soon leaves their range.
  const DType wide = scalar.dtype() == DType::f64 ? DType::f64 : DType::f32;
  return mul(to(scalar, wide), to(count.detach(), wide));
}

Tensor MicroBatch::auxiliary(const Tensor& scalar, double count) const {
  require_count("auxiliary", count);
  return auxiliary(scalar, Tensor::full({}, count, DType::f64, optimizer_->count_.device()));
}

const Tensor& MicroBatch::window_count() const {
  return optimizer_->window_count();
}

}  // namespace reel::optim
