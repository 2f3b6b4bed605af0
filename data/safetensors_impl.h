#pragma once
// What the writer, the parser of the header and the reader of safetensors files share.
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "reel/data/file.h"

namespace reel::data {

struct SafeTensorsEntry {
  DType dtype = DType::f32;
  Shape shape;
  std::int64_t begin = 0, end = 0;  // in the data section
};

struct SafeTensorsHeader {
  std::map<std::string, SafeTensorsEntry> entries;
  std::map<std::string, std::string> metadata;
};

/// "F32", "BOOL", ...: the names that the format gives to element types.
inline constexpr std::string_view kSafeTensorsNames[kDTypes] = {"BOOL", "U8",   "I32", "I64",
                                                                "F16",  "BF16", "F32", "F64"};

inline std::string_view safetensors_name(DType t) {
  return kSafeTensorsNames[static_cast<int>(t)];
}

inline std::optional<DType> safetensors_dtype(std::string_view name) {
  for (int i = 0; i < kDTypes; ++i)
    if (kSafeTensorsNames[i] == name) return static_cast<DType>(i);
  return std::nullopt;
}

/// Parses the next `length` bytes of `reader`: grammar, names, dtypes, shapes, and that each
/// entry's offsets are as far apart as its shape needs. Throws DataError. Memory: what is kept, and
/// 8 MiB.
SafeTensorsHeader parse_safetensors_header(Reader& reader, std::int64_t length);

}  // namespace reel::data
