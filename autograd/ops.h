#pragma once
// All differentiable functions, as a user calls them. Every one works on any strides and on empty
// tensors, and throws a typed error that names it: ShapeError, DTypeError, IndexError or ValueError.
// Dimensions count from 0, or from the end with negative numbers.
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "reel/autograd/apply.h"
#include "reel/core/rng.h"

namespace reel {

// --- One input, element by element. Floating dtypes. --------------------------------------------------------------

Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor round(const Tensor& x);  ///< ties to even
Tensor exp(const Tensor& x);
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor square(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor relu(const Tensor& x);  ///< max(x, 0); NaN stays NaN
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
Tensor elu(const Tensor& x, double alpha = 1);
Tensor gelu(const Tensor& x);       ///< x Phi(x), by the error function
Tensor gelu_tanh(const Tensor& x);  ///< its approximation by tanh
Tensor silu(const Tensor& x);
Tensor softplus(const Tensor& x);
Tensor clamp(const Tensor& x, double low, double high);
Tensor pow(const Tensor& x, double exponent);
Tensor operator-(const Tensor& x);

// --- Two inputs, broadcast; mixed dtypes are promoted (core/dtype.h). ---------------------------------------------

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, const Tensor& b);  ///< NaN wins; a tie halves the gradient
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);

/// Comparisons give bool and are constants to every tape.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
/// condition ? a : b, element by element; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);

// --- Dtype, copies and views. Views share the numbers of their input. ----------------------------------------------

Tensor to(const Tensor& x, DType dtype);  ///< x itself when it already has the dtype
Tensor contiguous(const Tensor& x);       ///< row-major; x itself when it already is
Tensor clone(const Tensor& x);            ///< a new tensor, row-major
/// One size may be -1. A view where strides allow it, else a copy.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor flatten(const Tensor& x, int first = 0, int last = -1);
Tensor permute(const Tensor& x, const Dims& order);
Tensor transpose(const Tensor& x, int a, int b);
Tensor expand(const Tensor& x, const Shape& shape);
Tensor squeeze(const Tensor& x, int dim);
Tensor unsqueeze(const Tensor& x, int dim);
/// Elements start, start + step, ... below stop; negative bounds count from the end, bounds are cut to the size.
Tensor slice(const Tensor& x,
             int dim,
             std::int64_t start,
             std::int64_t stop = std::numeric_limits<std::int64_t>::max(),
             std::int64_t step = 1);
Tensor select(const Tensor& x, int dim, std::int64_t index);
std::vector<Tensor> split(const Tensor& x, int dim, std::int64_t size);  ///< the last piece may be smaller
Tensor concat(const std::vector<Tensor>& parts, int dim);
Tensor stack(const std::vector<Tensor>& parts, int dim);
Tensor flip(const Tensor& x, int dim);
/// `pads` holds (before, after) for each dimension, from the first; negative numbers are refused.
Tensor pad(const Tensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& pads, double value = 0);
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);  ///< the last two dimensions, zero above the diagonal
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);

// --- Reductions. `dims` empty means all; sums of half types accumulate in f32. -------------------------------------

Tensor sum(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
Tensor sum_to(const Tensor& x, const Shape& shape);  ///< the adjoint of broadcasting
Tensor mean(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
/// Divides by (n - correction); two passes. NaN where n <= correction.
Tensor var(const Tensor& x, const Dims& dims = {}, bool keepdim = false, double correction = 1);
Tensor norm(const Tensor& x, const Dims& dims = {}, bool keepdim = false);  ///< Euclidean; no overflow on the way
Tensor prod(const Tensor& x, int dim, bool keepdim = false);
Tensor cumsum(const Tensor& x, int dim, bool reverse = false);
Tensor logsumexp(const Tensor& x, int dim, bool keepdim = false);  ///< -inf where all are -inf
struct ValuesIndices {
  Tensor values, indices;  ///< indices are i64
};
/// NaN counts as the extreme value; a tie gives the lowest index, which gets the gradient.
ValuesIndices max(const Tensor& x, int dim, bool keepdim = false);
ValuesIndices min(const Tensor& x, int dim, bool keepdim = false);
Tensor max(const Tensor& x);  ///< over all; ties share the gradient equally
Tensor min(const Tensor& x);
Tensor argmax(const Tensor& x, int dim, bool keepdim = false);
Tensor argmin(const Tensor& x, int dim, bool keepdim = false);
/// The k largest (or smallest) along dim, in order; ties by lowest index; NaN is largest.
ValuesIndices topk(const Tensor& x, std::int64_t k, int dim = -1, bool largest = true);
Tensor softmax(const Tensor& x, int dim);  ///< a row that is all -inf gives 0
Tensor log_softmax(const Tensor& x, int dim);

// --- Matrix products and convolutions. Half types accumulate in f32. -----------------------------------------------

/// op(a) op(b), with op a transposition of the last two dimensions where asked; leading dimensions broadcast.
/// A vector is a row (as a) or a column (as b) and its dimension is removed again.
Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a = false, bool transpose_b = false);
/// x [..., in], weight [out, in], bias [out] or empty -> [..., out]
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

struct Conv2dOptions {
  std::int64_t stride_h = 1, stride_w = 1, padding_h = 0, padding_w = 0, dilation_h = 1, dilation_w = 1, groups = 1;
  static Conv2dOptions same(std::int64_t stride,
                            std::int64_t padding,
                            std::int64_t dilation = 1,
                            std::int64_t groups = 1) {
    return {stride, stride, padding, padding, dilation, dilation, groups};
  }
};
/// Cross-correlation: x [n, ci, h, w], weight [co, ci / groups, kh, kw], bias [co] or empty -> [n, co, oh, ow],
/// oh = (h + 2 padding - dilation (kh - 1) - 1) / stride + 1. The result lies channels-last in memory.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Conv2dOptions& options = {});
/// The adjoint of conv2d: x [n, ci, h, w], weight [ci, co / groups, kh, kw] -> [n, co, oh, ow],
/// oh = (h - 1) stride - 2 padding + dilation (kh - 1) + output_padding + 1; output_padding < stride.
Tensor conv_transpose2d(const Tensor& x,
                        const Tensor& weight,
                        const Tensor& bias = {},
                        const Conv2dOptions& options = {},
                        std::int64_t output_padding_h = 0,
                        std::int64_t output_padding_w = 0);

struct Pool2dOptions {
  std::int64_t kernel_h = 2, kernel_w = 2, stride_h = 2, stride_w = 2, padding_h = 0, padding_w = 0;
  bool count_include_pad = true;  ///< average pooling: padding counts as zeros
  static Pool2dOptions square(std::int64_t kernel, std::int64_t stride, std::int64_t padding = 0) {
    return {kernel, kernel, stride, stride, padding, padding};
  }
};
Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options);  ///< NaN wins; a tie gives the gradient to the first
Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options);
Tensor adaptive_avg_pool2d(const Tensor& x, std::int64_t height, std::int64_t width);

// --- Normalisations. Statistics in f32 (f64 for f64), by two passes or Welford. ------------------------------------

/// Over the last dimensions, whose sizes are those of `weight` ([d...]); weight and bias may both be empty
/// when `dims` says how many dimensions are meant.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5, int dims = 1);
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps = 1e-6, int dims = 1);
/// x [n, c, ...], weight and bias [c] or empty
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias, double eps = 1e-5);
struct BatchNormResult {
  Tensor y, mean, var;  ///< of this batch, [c]; var is biased (divides by n)
};
/// By the statistics of the batch: x [n, c, ...], weight and bias [c] or empty. An empty batch has mean and var 0.
BatchNormResult batch_norm_train(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5);
/// By given statistics [c].
Tensor batch_norm_eval(const Tensor& x,
                       const Tensor& mean,
                       const Tensor& var,
                       const Tensor& weight,
                       const Tensor& bias,
                       double eps = 1e-5);

// --- Indexing. Indices are i64 (i32 is taken too); out of range is an IndexError that names index and size. -------

Tensor embedding(const Tensor& weight, const Tensor& indices);  ///< [n, d], [...] -> [..., d]
// index_add and scatter_add promote mixed dtypes.
Tensor index_select(const Tensor& x, int dim, const Tensor& indices);                ///< indices [k]
Tensor index_add(const Tensor& x, int dim, const Tensor& indices, const Tensor& y);  ///< x with y added at indices
Tensor gather(const Tensor& x, int dim, const Tensor& indices);                      ///< indices have x's rank
Tensor scatter_add(const Tensor& x, int dim, const Tensor& indices, const Tensor& y);

// --- Random and attention -------------------------------------------------------------------------------------------

/// Each element is 0 with probability p, else x / (1 - p). The mask is a function of the generator's position.
Tensor dropout(const Tensor& x, double p, Generator& g);
/// softmax(q k^T * scale + mask) v over [..., t, d]; scale defaults to 1 / sqrt(d). `mask` (bool: false hides;
/// floating: added) broadcasts to [..., tq, tk]; `causal` lets query i see the keys j <= i. A row that sees nothing
/// gives 0.
Tensor attention(const Tensor& q,
                 const Tensor& k,
                 const Tensor& v,
                 const Tensor& mask = {},
                 bool causal = false,
                 std::optional<double> scale = {});

// --- Losses: a sum and a count (f64), never a bare mean; see nn/loss.h for the usual front. ------------------------

struct SumCount {
  Tensor sum, count;
};
struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;
  double label_smoothing = 0;
};
/// logits [n, c] or [n, c, d...], labels [n] or [n, d...] of class indices; the count leaves ignored labels out.
SumCount cross_entropy_sum(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options = {});
SumCount nll_sum(const Tensor& log_probabilities, const Tensor& labels, std::int64_t ignore_index = -100);
SumCount mse_sum(const Tensor& x, const Tensor& target);
SumCount l1_sum(const Tensor& x, const Tensor& target);
SumCount smooth_l1_sum(const Tensor& x, const Tensor& target, double beta = 1);
SumCount bce_sum(const Tensor& probability, const Tensor& target);
SumCount bce_with_logits_sum(const Tensor& logits, const Tensor& target);

}  // namespace reel
