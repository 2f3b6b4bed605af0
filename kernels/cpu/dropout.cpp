// Dropout on the CPU. Bound by the ten rounds of Philox, which run for 64 blocks side by side.
#include "reel/kernels/dropout.h"

#include <cmath>

#include "reel/core/parallel.h"
#include "reel/core/philox.h"
#include "reel/kernels/cpu/wide_row_impl.h"

namespace reel::kernels {
namespace {

constexpr std::int64_t kBlocks = 64;  // side by side, whole vectors of them
constexpr std::int64_t kWords = 4 * kBlocks;

/// keep[4 k + j] for k < blocks: whether word j of block first + k is at least `bar`, an integer in
/// units of 2^-24.
void keep_words(std::uint64_t seed, std::uint64_t first, std::uint32_t bar, std::int64_t blocks, std::uint8_t* keep) {
  std::uint32_t word[4][kBlocks];
#pragma omp simd
  for (std::int64_t k = 0; k < blocks; ++k) {
    const Philox4 r = philox_block(seed, first + static_cast<std::uint64_t>(k));
    word[0][k] = r[0];
    word[1][k] = r[1];
    word[2][k] = r[2];
    word[3][k] = r[3];
  }
  for (std::int64_t k = 0; k < blocks; ++k)
    for (std::int64_t j = 0; j < 4; ++j) keep[4 * k + j] = (word[j][k] >> 8) >= bar;
}

template <class T>
void drop_run(const T* x, const std::uint8_t* keep, Acc<T> scale, T* y, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = keep[i] ? convert<T>(convert<Acc<T>>(x[i]) * scale) : T(0);
}

}  // namespace

void dropout(const Exec& exec, const View& x, const View& y, double p, std::uint64_t seed, std::uint64_t position) {
  // The uniform number is k 2^-24, so u >= p is k >= p 2^24 in whole numbers.
  const auto bar = static_cast<std::uint32_t>(std::ceil(p * 0x1p24));
  visit_floating(x.dtype, [&]<class T>() {
    const Dense xs = Dense::read(exec, x, x.dtype, Layout::row_major), out(y, x.dtype, Layout::row_major);
    const auto scale = static_cast<Acc<T>>(p < 1 ? 1 / (1 - p) : 0);
    parallel_for(x.numel, kWideGrain, [&](std::int64_t begin, std::int64_t end) {
      std::uint8_t keep[kWords];
      for (std::int64_t i = begin; i < end; i += kWords) {
        const std::int64_t n = std::min(kWords, end - i), blocks = (n + 63) / 64 * 16;
        keep_words(seed, position + static_cast<std::uint64_t>(i) / 4, bar, blocks, keep);
        drop_run(xs.as<T>() + i, keep, scale, out.as<T>() + i, n);
      }
    });
    out.write(exec);
  });
}

}  // namespace reel::kernels
