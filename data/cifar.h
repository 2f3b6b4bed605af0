#pragma once
// CIFAR-10, binary version (Krizhevsky 2009): records of a label byte and 3 x 32 x 32 bytes.
#include <string>
#include <vector>

#include "reel/data/samples.h"

namespace reel::data {

/// The records of all files, one after the other: images u8 [n, 3, 32, 32] (red, green, blue),
/// labels u8 [n] in 0..9. Throws IoError, and DataError when a file is no whole number of records,
/// or a label is out of range.
Samples read_cifar10(const std::vector<std::string>& paths);

}  // namespace reel::data
