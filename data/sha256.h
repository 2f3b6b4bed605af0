#pragma once
// SHA-256 (FIPS 180-4): to tell whether a file is the one it should be.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reel::data {

/// Takes a message piece by piece.
class Sha256 {
 public:
  void update(const void* data, std::size_t n);
  /// The digest of all pieces so far; more may follow.
  std::array<std::uint8_t, 32> digest() const;
  /// The same as 64 hexadecimal digits.
  std::string hex() const;

 private:
  void compress(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};
  std::uint64_t bytes_ = 0;
};

std::string sha256_hex(std::string_view message);
/// Of the bytes of a file as they are (a compressed one is not inflated). Throws IoError.
std::string sha256_of_file(const std::string& path);

}  // namespace reel::data
