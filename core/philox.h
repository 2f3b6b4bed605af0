#pragma once
// Philox 4x32-10, a counter-based generator: number i of a stream is a function of (seed, i), so any
// thread or device can compute it. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#ifndef REEL_HD
#ifdef __CUDACC__
#define REEL_HD __host__ __device__
#else
#define REEL_HD
#endif
#endif

namespace reel {

using Philox4 = std::array<std::uint32_t, 4>;

/// Four random words for a 128-bit counter under a 64-bit key.
REEL_HD inline Philox4 philox(Philox4 counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(p0)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// Block `block` (four words) of the stream of `seed`.
REEL_HD inline Philox4 philox_block(std::uint64_t seed, std::uint64_t block) {
  return philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
                static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

/// 24 random bits as a float in [0, 1).
REEL_HD inline float to_uniform(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}

/// Two standard normal numbers from two words (Box and Muller 1958). Written with explicit fused
/// operations, division and square root only, which IEEE 754 rounds alike on every device.
REEL_HD inline std::array<float, 2> to_normal(std::uint32_t bits0, std::uint32_t bits1) {
  // ln u for u in (0, 1]: u = m 2^e with m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh((m-1)/(m+1)).
  const float u = static_cast<float>((bits0 >> 8) + 1) * 0x1p-24f;
  const std::uint32_t b = std::bit_cast<std::uint32_t>(u) - 0x3f3504f3u;  // sqrt(1/2)
  const float e = static_cast<float>(static_cast<std::int32_t>(b) >> 23);
  const float m = std::bit_cast<float>((b & 0x007fffffu) + 0x3f3504f3u);
  const float s = (m - 1.0f) / (m + 1.0f), z = s * s;
  float p = fmaf(z, 1.0f / 9.0f, 1.0f / 7.0f);
  p = fmaf(z, p, 0.2f);
  p = fmaf(z, p, 1.0f / 3.0f);
  p = fmaf(z, p, 1.0f);
  const float twice = s + s;
  const float ln = fmaf(e, 0.693147180559945f, twice * p);
  const float r = sqrtf(-2.0f * ln);
  // An angle of q quarter turns, q in [0, 4): the nearest whole quarter k, and a rest in [-1/2, 1/2].
  const float q = static_cast<float>(bits1 >> 8) * 0x1p-22f;
  const int k = static_cast<int>(q + 0.5f);
  const float t = (q - static_cast<float>(k)) * 1.57079632679490f, w = t * t;
  float sn = fmaf(w, 1.0f / 362880.0f, -1.0f / 5040.0f);  // Taylor series of sine and cosine
  sn = fmaf(w, sn, 1.0f / 120.0f);
  sn = fmaf(w, sn, -1.0f / 6.0f);
  sn = fmaf(t * w, sn, t);
  float cs = fmaf(w, 1.0f / 40320.0f, -1.0f / 720.0f);
  cs = fmaf(w, cs, 1.0f / 24.0f);
  cs = fmaf(w, cs, -0.5f);
  cs = fmaf(w, cs, 1.0f);
  const float c = k & 1 ? -sn : cs, d = k & 1 ? cs : sn;  // cosine and sine after an odd quarter
  const float sign = k & 2 ? -1.0f : 1.0f;
  return {r * c * sign, r * d * sign};
}

}  // namespace reel
