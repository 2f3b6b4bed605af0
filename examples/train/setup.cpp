#include "reel/examples/train/setup.h"

#include <algorithm>

#include "reel/autograd/ops.h"
#include "reel/core/error.h"
#include "reel/data/sha256.h"
#include "reel/nn/layers.h"
#include "reel/nn/models.h"
#include "reel/optim/adam.h"
#include "reel/optim/sgd.h"

namespace reel::train {
namespace {

data::Dataset load_part(const std::string& name, const std::string& dir, const std::string& split) {
  if (name == "fashion-mnist") return data::fashion_mnist(split, dir);
  if (name == "digits") return data::digits(split, dir);
  if (is_folder(name)) return data::from_folder(name, split);
  check<ValueError>(!dir.empty(), "--data ", name, ": where are its files? Give their folder with --data-dir");
  return name == "mnist" ? data::mnist(split, dir) : data::cifar10(split, dir);
}

template <class O>
void set_common(O& o, const Settings& s) {
  o.lr = s.lr;
  o.weight_decay = s.weight_decay;
  o.accumulate = s.accumulate;
  o.tail = s.tail == "flush" ? optim::Tail::flush : s.tail == "carry" ? optim::Tail::carry : optim::Tail::drop;
  if (s.clip > 0) o.clip_norm = s.clip;
}

}  // namespace

Data load_data(const std::string& name, const std::string& dir) {
  check<ValueError>(dir.empty() || !is_folder(name), "--data-dir ", dir, ": --data ", name,
                    " is a folder already. Leave one of them out");
  Data d{load_part(name, dir, "train"), load_part(name, dir, "test")};
  const auto size = [](const data::Dataset& part) {
    Shape s = part.images.shape();
    s[0] = 0;
    return s;
  };
  check<DataError>(d.train.size() > 0 && d.test.size() > 0, "--data ", name, ": holds ", d.train.size(),
                   " training and ", d.test.size(), " test images: both are needed");
  check<DataError>(size(d.train) == size(d.test), "--data ", name, ": training images are ", d.train.images.shape(),
                   ", but test images are ", d.test.images.shape(), ". Only the first number may differ");
  d.train.classes = d.test.classes = std::max(d.train.classes, d.test.classes);
  return d;
}

nn::Sequential make_model(const Settings& s, const data::Dataset& d, const nn::Random& random) {
  const Shape& shape = d.images.shape();
  check<ValueError>(shape.rank() == 4, "--data ", s.data, ": images are ", shape, ", but [n, c, h, w] is needed");
  const nn::ImageOptions image{shape[1], shape[2], shape[3], d.classes, s.dropout};
  if (s.model == "lenet") return nn::lenet(image, random);
  if (s.model == "cnn") return nn::cnn(image, random);
  if (s.model == "resnet") return nn::resnet({.channels = shape[1], .classes = d.classes}, random);
  constexpr std::int64_t kHidden = 128;
  return nn::Sequential(nn::Flatten(), nn::mlp({shape[1] * shape[2] * shape[3], kHidden, d.classes}, random));
}

std::unique_ptr<optim::Optimizer> make_optimizer(const Settings& s, std::vector<Parameter> parameters) {
  if (s.optimizer == "sgd") {
    optim::SGDOptions o;
    set_common(o, s);
    o.momentum = s.momentum;
    return std::make_unique<optim::SGD>(std::move(parameters), o);
  }
  if (s.optimizer == "adam") {
    optim::AdamOptions o;
    set_common(o, s);
    return std::make_unique<optim::Adam>(std::move(parameters), o);
  }
  optim::AdamWOptions o;
  set_common(o, s);
  return std::make_unique<optim::AdamW>(std::move(parameters), o);
}

std::int64_t steps_of(const Settings& s, std::int64_t batches) {
  const std::int64_t k = s.accumulate;
  const std::int64_t steps = s.tail == "flush"  ? s.epochs * ((batches + k - 1) / k)
                             : s.tail == "drop" ? s.epochs * (batches / k)
                                                : s.epochs * batches / k;
  check<ValueError>(steps > 0, "--accumulate ", k, ": with --tail ", s.tail,
                    " there is no optimizer step: an epoch has ", batches, " micro-batches, and there are ", s.epochs,
                    " epochs");
  check<ValueError>(s.warmup < steps, "--warmup ", s.warmup, ": the whole run has ", steps,
                    " optimizer steps. Use a shorter warm-up, or more epochs");
  return steps;
}

optim::Schedule make_schedule(const Settings& s, std::int64_t steps, const optim::Plateau& plateau) {
  if (s.schedule == "onecycle") return optim::one_cycle(steps);
  const std::int64_t warmup = s.warmup >= 0 ? s.warmup : steps / 20, rest = steps - warmup;
  const optim::Schedule main = s.schedule == "cosine"    ? optim::cosine(rest)
                               : s.schedule == "step"    ? optim::step_decay((rest + 2) / 3)
                               : s.schedule == "plateau" ? optim::Schedule(plateau)
                                                         : optim::constant();
  if (warmup == 0) return main;
  // The first step has a rate above 0, or it would be wasted.
  const double start = 1 / static_cast<double>(warmup + 1);
  return optim::sequence(optim::linear_warmup(warmup, start), warmup, main);
}

std::string sha256_of(const std::vector<Parameter>& parameters) {
  std::vector<Parameter> sorted = parameters;
  std::ranges::sort(sorted, {}, &Parameter::name);
  data::Sha256 hash;
  for (const auto& [name, tensor] : sorted) {
    const Tensor t = contiguous(tensor);
    hash.update(t.raw(), static_cast<std::size_t>(t.numel()) * size_of(t.dtype()));
  }
  return hash.hex();
}

}  // namespace reel::train
