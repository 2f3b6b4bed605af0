#pragma once
#include "reel/core/tensor.h"

namespace reel::data {

/// What a file of labelled images holds, as it is stored.
struct Samples {
  Tensor images;  ///< u8 [n, c, h, w]
  Tensor labels;  ///< u8 [n]
};

}  // namespace reel::data
