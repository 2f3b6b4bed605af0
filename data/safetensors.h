#pragma once
// Safetensors: named tensors in one file. Eight bytes of header length, a JSON header, then the
// numbers.
#include <map>
#include <string>

#include "reel/core/tensor.h"

namespace reel::data {

/// What a safetensors file holds.
struct SafeTensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Bounds that the reader holds every file to, and the writer every call.
struct SafeTensorsLimits {
  static constexpr std::int64_t kHeader = 100'000'000;  ///< bytes
  static constexpr std::int64_t kTensors = 16384;
  static constexpr std::int64_t kName = 1024;  ///< bytes of the name of a tensor
  static constexpr std::int64_t kMetadata = 4096;
  static constexpr std::int64_t kText = 2 << 20;  ///< bytes of a text in the header
};

/// Writes the file atomically (see write_atomically). Tensors of any strides are written row-major,
/// those with wider elements first and then by name; the numbers start at a multiple of 64 bytes.
/// Throws ValueError for an empty tensor, the name "__metadata__", text that is no UTF-8 or more
/// than the limits; DeviceError for a tensor that is not on the cpu; IoError.
void save_safetensors(const std::string& path,
                      const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

/// Reads a file of any origin, strictly: every rule of the format is checked before the first
/// tensor is allocated, and memory stays below the size of the file + 16 MiB whatever the header
/// says. The tensors are new ones on the cpu: BOOL, U8, I32, I64, F16, BF16, F32 or F64. Throws
/// IoError, and DataError that names the tensor and what is wrong.
SafeTensors load_safetensors(const std::string& path);

}  // namespace reel::data
