#pragma once
// The version (semantic versioning). It is written here alone: CMake reads this line.

namespace reel {

/// Of the headers a program was compiled with.
inline constexpr char kVersion[] = "0.1.0";

/// Of the library it is linked to.
const char* version();

}  // namespace reel
