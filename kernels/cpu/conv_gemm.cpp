// Convolution as matrix products. For one group and a band of output rows, `col` holds a row of
// kh * kw * ci values for each output pixel; with the weights packed as [kh kw ci, co]:
//   y = col w,   dcol = dy w^T (scattered back into dx),   dw = col^T dy.
// A band is small enough for its `col` to stay in the cache.
#include "reel/core/parallel.h"
#include "reel/kernels/cpu/conv_impl.h"
#include "reel/kernels/gemm.h"

namespace reel::kernels {
namespace {

template <class T>
Tensor scratch(std::int64_t n) {
  return Tensor::empty({n}, dtype_of<T>());
}

/// Calls fn(position in [co, ci, kh, kw], position in [group][kh kw ci][co]) for each weight.
template <class Fn>
void for_each_weight(const ConvSizes& s, const Fn& fn) {
  const std::int64_t cog = s.co_group(), cig = s.ci_group(), window = s.kh * s.kw;
  for (std::int64_t o = 0; o < s.co; ++o)
    for (std::int64_t c = 0; c < cig; ++c)
      for (std::int64_t k = 0; k < window; ++k)
        fn((o * cig + c) * window + k, (o / cog * s.taps() + k * cig + c) * cog + o % cog);
}

template <class T>
Tensor pack(const ConvSizes& s, const T* weight) {
  Tensor t = scratch<T>(s.weights());
  T* packed = t.data<T>();
  for_each_weight(s, [&](std::int64_t from, std::int64_t to) { packed[to] = weight[from]; });
  return t;
}

/// Whether `col` would be x itself.
bool is_pointwise(const ConvSizes& s) {
  return s.kh == 1 && s.kw == 1 && s.step.stride_h == 1 && s.step.stride_w == 1 && s.step.padding_h == 0 &&
         s.step.padding_w == 0;
}

/// Output rows in one band.
std::int64_t band_rows(const ConvSizes& s) {
  constexpr std::int64_t kValues = 1 << 15;
  return std::clamp<std::int64_t>(kValues / std::max<std::int64_t>(1, s.ow * s.taps()), 1, s.oh);
}

/// Calls fn(col, x) for each tap of output rows [begin, end) of one image and group: addresses of
/// the ci_group values of the tap in `col` and in `image`; x is null where the tap lies in the
/// padding.
template <class T, class X, class Fn>
void for_each_tap(
    const ConvSizes& s, std::int64_t group, std::int64_t begin, std::int64_t end, T* col, X* image, const Fn& fn) {
  const std::int64_t cig = s.ci_group();
  for (std::int64_t i = begin; i < end; ++i)
    for (std::int64_t j = 0; j < s.ow; ++j)
      for (std::int64_t a = 0; a < s.kh; ++a)
        for (std::int64_t b = 0; b < s.kw; ++b, col += cig) {
          const std::int64_t row = i * s.step.stride_h - s.step.padding_h + a * s.step.dilation_h;
          const std::int64_t at = j * s.step.stride_w - s.step.padding_w + b * s.step.dilation_w;
          const bool inside = row >= 0 && row < s.h && at >= 0 && at < s.w;
          fn(col, inside ? image + (row * s.w + at) * s.ci + group * cig : nullptr);
        }
}

/// A matrix with its row pitch.
template <class T>
struct Rows {
  T* data;
  std::int64_t pitch;
};

/// The columns of output rows [begin, end): x itself where it can be, else gathered into `buffer`.
template <class T>
Rows<const T> gather(
    const ConvSizes& s, const T* image, std::int64_t group, std::int64_t begin, std::int64_t end, T* buffer) {
  const std::int64_t cig = s.ci_group();
  if (is_pointwise(s)) return {image + begin * s.w * s.ci + group * cig, s.ci};
  for_each_tap(s, group, begin, end, buffer, image, [cig](T* col, const T* x) {
    if (x)
      std::copy_n(x, cig, col);
    else
      std::fill_n(col, cig, T{});
  });
  return {buffer, s.taps()};
}

template <class T>
void product(bool ta,
             bool tb,
             std::int64_t m,
             std::int64_t n,
             std::int64_t k,
             Rows<const T> a,
             Rows<const T> b,
             Rows<T> c,
             bool accumulate) {
  gemm({ta, tb, m, n, k, a.pitch, b.pitch, c.pitch, accumulate}, a.data, b.data, c.data);
}

}  // namespace

template <class T>
void conv_gemm(const ConvSizes& s, const T* x, const T* weight, const T* bias, T* y) {
  const Tensor packed = pack(s, weight);
  const T* w = packed.data<T>();
  const std::int64_t rows = band_rows(s), bands = (s.oh + rows - 1) / rows, cog = s.co_group();
  parallel_for(s.n * bands, 1, [&](std::int64_t first, std::int64_t last) {
    const Tensor buffer = scratch<T>(is_pointwise(s) ? 0 : rows * s.ow * s.taps());
    for (std::int64_t u = first; u < last; ++u) {
      const std::int64_t image = u / bands, begin = u % bands * rows, end = std::min(begin + rows, s.oh);
      const std::int64_t pixels = (end - begin) * s.ow;
      T* out = y + (image * s.oh + begin) * s.ow * s.co;
      for (std::int64_t p = 0; p < pixels; ++p) {
        if (bias)
          std::copy_n(bias, s.co, out + p * s.co);
        else
          std::fill_n(out + p * s.co, s.co, T{});
      }
      if (s.taps() == 0) continue;
      for (std::int64_t g = 0; g < s.step.groups; ++g) {
        const auto col = gather(s, x + image * s.h * s.w * s.ci, g, begin, end, buffer.data<T>());
        product<T>(false, false, pixels, cog, s.taps(), col, {w + g * s.taps() * cog, cog}, {out + g * cog, s.co},
                   true);
      }
    }
  });
}

template <class T>
void conv_gemm_data_grad(const ConvSizes& s, const T* dy, const T* weight, T* dx) {
  const Tensor packed = pack(s, weight);
  const T* w = packed.data<T>();
  const std::int64_t rows = band_rows(s), cog = s.co_group(), cig = s.ci_group();
  // Bands of one image overlap in dx, so one image is the unit of work.
  parallel_for(s.n, s.images_per_chunk(), [&](std::int64_t first, std::int64_t last) {
    const Tensor buffer = scratch<T>(rows * s.ow * s.taps());
    T* col = buffer.data<T>();
    for (std::int64_t image = first; image < last; ++image) {
      T* out = dx + image * s.h * s.w * s.ci;
      std::fill_n(out, s.h * s.w * s.ci, T{});
      if (s.co == 0) continue;
      for (std::int64_t begin = 0; begin < s.oh; begin += rows) {
        const std::int64_t end = std::min(begin + rows, s.oh);
        const T* in = dy + (image * s.oh + begin) * s.ow * s.co;
        for (std::int64_t g = 0; g < s.step.groups; ++g) {
          product<T>(false, true, (end - begin) * s.ow, s.taps(), cog, {in + g * cog, s.co},
                     {w + g * s.taps() * cog, cog}, {col, s.taps()}, false);
          for_each_tap(s, g, begin, end, col, out, [cig](const T* from, T* to) {
            if (!to) return;
#pragma omp simd
            for (std::int64_t c = 0; c < cig; ++c) to[c] += from[c];
          });
        }
      }
    }
  });
}

template <class T>
void conv_gemm_weight_grad(const ConvSizes& s, const T* x, const T* dy, T* dw) {
  const std::int64_t rows = band_rows(s), cog = s.co_group(), per = s.images_per_partial();
  const std::int64_t chunks = (s.n + per - 1) / per, pitch = s.weights();
  const Tensor partial = scratch<T>(chunks * pitch), whole = scratch<T>(pitch);
  parallel_for(s.n, per, [&](std::int64_t first, std::int64_t last) {
    const Tensor buffer = scratch<T>(is_pointwise(s) ? 0 : rows * s.ow * s.taps());
    T* out = partial.data<T>() + first / per * pitch;
    for (std::int64_t image = first; image < last; ++image)
      for (std::int64_t begin = 0; begin < s.oh; begin += rows) {
        const std::int64_t end = std::min(begin + rows, s.oh);
        const T* in = dy + (image * s.oh + begin) * s.ow * s.co;
        for (std::int64_t g = 0; g < s.step.groups; ++g) {
          const auto col = gather(s, x + image * s.h * s.w * s.ci, g, begin, end, buffer.data<T>());
          product<T>(true, false, s.taps(), cog, (end - begin) * s.ow, col, {in + g * cog, s.co},
                     {out + g * s.taps() * cog, cog}, image > first || begin > 0);
        }
      }
  });
  const T* sum = partial.data<T>();
  if (chunks > 1) {
    add_parts(sum, chunks, pitch, whole.data<T>(), pitch);
    sum = whole.data<T>();
  }
  for_each_weight(s, [&](std::int64_t to, std::int64_t from) { dw[to] = sum[from]; });
}

template <class T>
void add_parts(const T* parts, std::int64_t count, std::int64_t pitch, T* out, std::int64_t n) {
  constexpr std::int64_t kGrain = 1 << 14;
  parallel_for(n, kGrain, [=](std::int64_t begin, std::int64_t end) {
    std::copy(parts + begin, parts + end, out + begin);
    for (std::int64_t k = 1; k < count; ++k) {
      const T* part = parts + k * pitch;
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) out[i] += part[i];
    }
  });
}

#define REEL_INSTANTIATE(T)                                                      \
  template void conv_gemm(const ConvSizes&, const T*, const T*, const T*, T*);   \
  template void conv_gemm_data_grad(const ConvSizes&, const T*, const T*, T*);   \
  template void conv_gemm_weight_grad(const ConvSizes&, const T*, const T*, T*); \
  template void add_parts(const T*, std::int64_t, std::int64_t, T*, std::int64_t);
REEL_INSTANTIATE(float)
REEL_INSTANTIATE(double)
#undef REEL_INSTANTIATE

}  // namespace reel::kernels
