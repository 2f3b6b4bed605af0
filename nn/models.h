#pragma once
// Small models that are known well, with PyTorch's names.
#include "reel/nn/attention.h"
#include "reel/nn/conv.h"
#include "reel/nn/norm.h"
#include "reel/nn/sequential.h"

namespace reel::nn {

/// Linear layers of these sizes with ReLU between them: mlp({784, 128, 10}) maps [n, 784] to [n,
/// 10]. Throws ValueError for fewer than two sizes.
Sequential mlp(const std::vector<std::int64_t>& sizes, const Random& random = Random());

/// Of the images that a classifier takes.
struct ImageOptions {
  std::int64_t channels = 1, height = 28, width = 28;
  std::int64_t classes = 10;
  double dropout = 0;  ///< before the last layer; lenet only
};

/// conv 3x3 (32), ReLU, pool 2, conv 3x3 (64), ReLU, pool 2, linear (128), ReLU, dropout, linear
/// (classes): after LeCun et al. 1998. Needs images of at least 4 x 4; each pooling drops an odd
/// last row or column.
Sequential lenet(const ImageOptions& options = {}, const Random& random = Random());

/// The same without the hidden linear layer.
Sequential cnn(const ImageOptions& options = {}, const Random& random = Random());

struct ResNetOptions {
  std::int64_t channels = 3, classes = 10;
  std::int64_t width = 16;  ///< channels of the first stage; doubled in each of the two others
  std::int64_t blocks = 1;  ///< basic blocks in each stage; n makes 6n + 2 layers
};
/// The residual network for small images of He et al. 2016, section 4.2, for any height and width.
Sequential resnet(const ResNetOptions& options = {}, const Random& random = Random());

}  // namespace reel::nn
