#pragma once
// The optical digits as text: one image a line.
#include <string>

#include "reel/data/samples.h"

namespace reel::data {

/// Reads lines of 64 numbers 0..16 and a label 0..9, separated by commas; plain or gzip. Gives
/// images u8 [n, 1, 8, 8] and labels u8 [n]. Throws IoError, and DataError that names the line and
/// the field.
Samples read_digits_csv(const std::string& path);

}  // namespace reel::data
