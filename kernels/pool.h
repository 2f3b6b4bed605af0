#pragma once
// Pooling over the last two dimensions of [n, c, h, w].
#include <vector>

#include "reel/kernels/view.h"

namespace reel::kernels {

/// A window that moves over x. Windows may hang over the border by less than their own size.
struct PoolWindow {
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w;
};
/// y = the largest element of each window; `at` is its place in the window, row * kernel_w +
/// column, as u8 or i32. NaN is the largest; among equals the first counts; padding never does.
void max_pool2d(const Exec&, const View& x, const View& y, const View& at, const PoolWindow& window);
/// dx[i] = the sum of dy over the windows whose largest element is i.
void max_pool2d_grad(const Exec&, const View& dy, const View& at, const View& dx, const PoolWindow& window);

/// Elements [begin, end) along one axis go into one output, which divides by `size` (along this
/// axis).
struct PoolSpan {
  std::int64_t begin, end, size;
};
/// One span for each output; neither begin nor end ever falls from one span to the next.
using PoolSpans = std::vector<PoolSpan>;
/// y = the sum over rows x columns, divided by the product of their sizes.
void avg_pool2d(const Exec&, const View& x, const View& y, const PoolSpans& rows, const PoolSpans& columns);
/// dx[i] = the sum of dy / size over the windows that hold i.
void avg_pool2d_grad(const Exec&, const View& dy, const View& dx, const PoolSpans& rows, const PoolSpans& columns);

}  // namespace reel::kernels
