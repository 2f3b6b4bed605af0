#include "reel/data/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "reel/data/file.h"

namespace reel::data {
namespace {

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS
/// 180-4, 4.2.2).
constexpr std::uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

void Sha256::compress(const std::uint8_t* block) {
  std::uint32_t w[64];
  for (int t = 0; t < 16; ++t)
    w[t] = std::uint32_t{block[4 * t]} << 24 | std::uint32_t{block[4 * t + 1]} << 16 |
           std::uint32_t{block[4 * t + 2]} << 8 | block[4 * t + 3];
  for (int t = 16; t < 64; ++t) {
    const std::uint32_t a = w[t - 15], b = w[t - 2];
    w[t] = w[t - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[t - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int t = 0; t < 64; ++t) {
    const std::uint32_t t1 =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    const std::uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + t2;
  }
  const std::uint32_t added[8] = {a, b, c, d, e, f, g, h};
  for (unsigned i = 0; i < 8; ++i) state_[i] += added[i];
}

void Sha256::update(const void* data, std::size_t n) {
  const auto* p = static_cast<const std::uint8_t*>(data);
  while (n > 0) {
    const std::size_t have = bytes_ % 64, take = std::min(n, 64 - have);
    std::memcpy(block_.data() + have, p, take);
    bytes_ += take;
    p += take;
    n -= take;
    if (bytes_ % 64 == 0) compress(block_.data());
  }
}

std::array<std::uint8_t, 32> Sha256::digest() const {
  Sha256 last = *this;
  const std::uint64_t bits = bytes_ * 8;
  // A one bit, then zeros up to 56 modulo 64, then the length in bits.
  constexpr std::uint8_t kPadding[64] = {0x80};
  last.update(kPadding, 1 + (119 - bytes_ % 64) % 64);
  std::uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
  last.update(length, 8);
  std::array<std::uint8_t, 32> out;
  for (unsigned i = 0; i < 32; ++i) out[i] = static_cast<std::uint8_t>(last.state_[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

std::string Sha256::hex() const {
  std::string text;
  for (const std::uint8_t b : digest()) {
    text += "0123456789abcdef"[b >> 4];
    text += "0123456789abcdef"[b & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view message) {
  Sha256 h;
  h.update(message.data(), message.size());
  return h.hex();
}

std::string sha256_of_file(const std::string& path) {
  Reader reader(path, Reader::Content::plain);
  std::vector<std::uint8_t> buffer(1 << 16);
  Sha256 h;
  while (const std::size_t got = reader.read_some(buffer.data(), buffer.size())) h.update(buffer.data(), got);
  return h.hex();
}

}  // namespace reel::data
