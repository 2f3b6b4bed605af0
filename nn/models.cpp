#include "reel/nn/models.h"

#include "reel/nn/layers.h"
#include "reel/nn/options_impl.h"

namespace reel::nn {
namespace {

void check_image(const char* model, const ImageOptions& o) {
  require_at_least(model, "channels", o.channels, std::int64_t{1});
  require_at_least(model, "classes", o.classes, std::int64_t{1});
  require_at_least(model, "height", o.height, std::int64_t{4});
  require_at_least(model, "width", o.width, std::int64_t{4});
}

/// The two convolutions of lenet and cnn: [n, c, h, w] -> [n, 64 (h / 4) (w / 4)].
Sequential image_features(const ImageOptions& o, const Random& random) {
  Sequential m;
  m.add("conv1", Conv2d({.in = o.channels, .out = 32, .kernel = 3, .padding = 1}, random));
  m.add("relu1", ReLU());
  m.add("pool1", MaxPool2d());
  m.add("conv2", Conv2d({.in = 32, .out = 64, .kernel = 3, .padding = 1}, random));
  m.add("relu2", ReLU());
  m.add("pool2", MaxPool2d());
  m.add("flatten", Flatten());
  return m;
}
std::int64_t feature_count(const ImageOptions& o) {
  return 64 * (o.height / 2 / 2) * (o.width / 2 / 2);
}

Conv2d conv3x3(std::int64_t in, std::int64_t out, std::int64_t stride, const Random& random) {
  return Conv2d({.in = in, .out = out, .kernel = 3, .stride = stride, .padding = 1, .bias = false}, random);
}

/// relu(bn(conv(relu(bn(conv(x))))) + x), with a 1x1 convolution of x where sizes change.
class BasicBlock final : public Module {
 public:
  BasicBlock(std::int64_t in, std::int64_t out, std::int64_t stride, const Random& random)
      : Module("BasicBlock"),
        conv1_(child("conv1", conv3x3(in, out, stride, random))),
        bn1_(child("bn1", BatchNorm2d({.channels = out}))),
        conv2_(child("conv2", conv3x3(out, out, 1, random))),
        bn2_(child("bn2", BatchNorm2d({.channels = out}))) {
    if (stride == 1 && in == out) return;
    downsample_.add(Conv2d({.in = in, .out = out, .kernel = 1, .stride = stride, .bias = false}, random));
    downsample_.add(BatchNorm2d({.channels = out}));
    child("downsample", downsample_);
  }

 protected:
  Tensor forward(const Tensor& x) const override {
    const Tensor y = bn2_(conv2_(relu(bn1_(conv1_(x)))));
    return relu(y + downsample_(x));
  }

 private:
  Conv2d conv1_;
  BatchNorm2d bn1_;
  Conv2d conv2_;
  BatchNorm2d bn2_;
  Sequential downsample_;  // without layers it is the identity
};

}  // namespace

Sequential mlp(const std::vector<std::int64_t>& sizes, const Random& random) {
  check<ValueError>(sizes.size() >= 2, "mlp: needs at least two sizes, but got ", sizes.size());
  Sequential m;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    if (i > 0) m.add(ReLU());
    m.add(Linear({.in = sizes[i], .out = sizes[i + 1]}, random));
  }
  return m;
}

Sequential lenet(const ImageOptions& o, const Random& random) {
  check_image("lenet", o);
  Sequential m = image_features(o, random);
  m.add("fc1", Linear({.in = feature_count(o), .out = 128}, random));
  m.add("relu3", ReLU());
  if (o.dropout > 0) m.add("dropout", Dropout(o.dropout, random));
  m.add("fc2", Linear({.in = 128, .out = o.classes}, random));
  return m;
}

Sequential cnn(const ImageOptions& o, const Random& random) {
  check_image("cnn", o);
  Sequential m = image_features(o, random);
  m.add("fc", Linear({.in = feature_count(o), .out = o.classes}, random));
  return m;
}

Sequential resnet(const ResNetOptions& o, const Random& random) {
  require_at_least("resnet", "channels", o.channels, std::int64_t{1});
  require_at_least("resnet", "classes", o.classes, std::int64_t{1});
  require_at_least("resnet", "width", o.width, std::int64_t{1});
  require_at_least("resnet", "blocks", o.blocks, std::int64_t{1});
  Sequential m;
  m.add("conv1", conv3x3(o.channels, o.width, 1, random));
  m.add("bn1", BatchNorm2d({.channels = o.width}));
  m.add("relu", ReLU());
  std::int64_t in = o.width;
  for (int stage = 1; stage <= 3; ++stage) {
    const std::int64_t out = o.width << (stage - 1);
    Sequential layer;
    for (std::int64_t b = 0; b < o.blocks; ++b, in = out)
      layer.add(BasicBlock(in, out, stage > 1 && b == 0 ? 2 : 1, random));
    m.add("layer" + std::to_string(stage), layer);
  }
  m.add("avgpool", AdaptiveAvgPool2d(1));
  m.add("flatten", Flatten());
  m.add("fc", Linear({.in = in, .out = o.classes}, random));
  return m;
}

}  // namespace reel::nn
