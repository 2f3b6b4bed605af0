#pragma once
// Shared by the files of the CPU convolution: sizes, and the two ways to compute. Here operands are
// dense: x and y as nhwc, weights row-major [co, ci / groups, kh, kw].
#include <algorithm>

#include "reel/kernels/conv.h"

namespace reel::kernels {

struct ConvSizes {
  ConvSteps step;
  std::int64_t n, ci, h, w, co, oh, ow, kh, kw;

  std::int64_t ci_group() const { return ci / step.groups; }
  std::int64_t co_group() const { return co / step.groups; }
  std::int64_t taps() const { return kh * kw * ci_group(); }  // products summed for one output
  std::int64_t pixels() const { return oh * ow; }
  std::int64_t weights() const { return co * taps(); }

  /// Images in one chunk of parallel work: at most 16 chunks, none too small to be worth a thread.
  std::int64_t images_per_chunk() const {
    constexpr std::int64_t kChunks = 16, kWork = 1 << 19;  // multiply-adds
    const std::int64_t image = std::max<std::int64_t>(1, pixels() * co * taps());
    return std::max((n + kChunks - 1) / kChunks, (kWork + image - 1) / image);
  }
  /// The same for the weight gradient, where each chunk has a partial result of its own: at most 8,
  /// each over enough pixels that adding up the partial results costs little.
  std::int64_t images_per_partial() const {
    constexpr std::int64_t kChunks = 8, kPixels = 1024;
    const std::int64_t image = std::max<std::int64_t>(1, pixels());
    return std::max((n + kChunks - 1) / kChunks, (kPixels + image - 1) / image);
  }
};

/// Through im2col and matrix products: any sizes, float or double.
template <class T>
void conv_gemm(const ConvSizes& s, const T* x, const T* weight, const T* bias, T* y);
template <class T>
void conv_gemm_data_grad(const ConvSizes& s, const T* dy, const T* weight, T* dx);
template <class T>
void conv_gemm_weight_grad(const ConvSizes& s, const T* x, const T* dy, T* dw);

#ifdef REEL_WITH_ONEDNN
/// Through oneDNN. False, with nothing written, where it has no fast code for these sizes.
bool conv_onednn(const ConvSizes& s, const float* x, const float* weight, const float* bias, float* y);
bool conv_onednn_data_grad(const ConvSizes& s, const float* dy, const float* weight, float* dx);
bool conv_onednn_weight_grad(const ConvSizes& s, const float* x, const float* dy, float* dw);
#endif

/// out[i] = parts[0][i] + parts[1][i] + ..., in this order; the parts lie `pitch` elements apart.
template <class T>
void add_parts(const T* parts, std::int64_t count, std::int64_t pitch, T* out, std::int64_t n);

}  // namespace reel::kernels
