#pragma once
// IDX, the format of MNIST and its relatives (LeCun, Cortes, Burges): a big-endian header, then
// bytes.
#include <string>

#include "reel/core/tensor.h"

namespace reel::data {

/// The images of a file with magic 0x00000803, plain or gzip: u8 [n, h, w]. Throws IoError, and
/// DataError when the file is of another kind, or holds less or more than its header announces.
Tensor read_idx_images(const std::string& path);

/// The labels of a file with magic 0x00000801, plain or gzip: u8 [n]. Throws as read_idx_images
/// does.
Tensor read_idx_labels(const std::string& path);

}  // namespace reel::data
