#include "reel/data/loader.h"

#include <algorithm>
#include <numeric>

#include "reel/core/parallel.h"
#include "reel/core/rng.h"

namespace reel::data {
namespace {

constexpr std::int64_t kGrain = 1 << 15;  // pixels a chunk
constexpr std::int64_t kMostEpochs = std::int64_t{1} << 31;

/// out = pixel * scale + shift for the pixels of one channel.
template <class T>
void normalize_channel(const T* __restrict pixels, float* __restrict out, std::int64_t n, float scale, float shift) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(pixels[i]) * scale + shift;
}

float of_channel(const std::vector<float>& v, std::int64_t c, float none) {
  return v.empty() ? none : v[v.size() == 1 ? 0 : static_cast<std::size_t>(c)];
}

/// Another stream for each (seed, epoch), and none that the same seed gives to weights or dropout.
Generator shuffle_generator(std::uint64_t seed, std::int64_t epoch) {
  std::uint64_t z = seed + 0x9E3779B97F4A7C15u;  // the finaliser of SplitMix64 (Steele, Lea, Flood 2014)
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return Generator(z ^ (z >> 31), static_cast<std::uint64_t>(epoch) << 32);
}

}  // namespace

Batch make_batch(const Dataset& dataset, std::span<const std::int64_t> samples, std::int64_t index) {
  const std::int64_t n = dataset.size(), count = static_cast<std::int64_t>(samples.size());
  for (const std::int64_t s : samples)
    check<IndexError>(s >= 0 && s < n, "make_batch: sample ", s, " of ", dataset.name, ", which has ", n, " samples");
  Shape shape = dataset.images.shape();
  shape[0] = count;
  Batch batch{Tensor::empty(shape, DType::f32), Tensor::empty({count}, DType::i64), index};
  for (std::int64_t i = 0; i < count; ++i)
    batch.labels.data<std::int64_t>()[i] = dataset.labels.data<std::int64_t>()[samples[static_cast<std::size_t>(i)]];

  const std::int64_t channels = shape[1], pixels = count ? batch.images.numel() / count : 0;
  const std::int64_t plane = channels ? pixels / channels : 0;
  float* const out = batch.images.data<float>();
  const auto fill = [&]<class T>(const T* images) {
    parallel_for(count, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(pixels, 1)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i)
                     for (std::int64_t c = 0; c < channels; ++c)
                       normalize_channel(images + samples[static_cast<std::size_t>(i)] * pixels + c * plane,
                                         out + i * pixels + c * plane, plane, of_channel(dataset.scale, c, 1),
                                         of_channel(dataset.shift, c, 0));
                 });
  };
  if (dataset.images.dtype() == DType::u8)
    fill(dataset.images.data<std::uint8_t>());
  else
    fill(dataset.images.data<float>());
  return batch;
}

Loader::Loader(Dataset dataset, const LoaderOptions& options) : dataset_(std::move(dataset)), options_(options) {
  validate(dataset_);
  const std::int64_t n = dataset_.size(), batch = options_.batch;
  check<ValueError>(batch >= 1, "Loader: batch is ", batch, ", but must be at least 1");
  check<ValueError>(n >= 1, "Loader: the data set ", dataset_.name, " has no samples");
  check<ValueError>(n < kMostEpochs * 2, "Loader: the data set has ", n, " samples, but at most 2^32 are supported");
  check<ValueError>(!options_.drop_last || batch <= n, "Loader: drop_last leaves no batch: batch ", batch, ", samples ",
                    n, ". Use a smaller batch");
  batches_ = n / batch + (options_.drop_last || n % batch == 0 ? 0 : 1);
}

Loader::Iterator Loader::begin() {
  if (under_way_) set_epoch(epoch_ + 1);
  return Iterator(this);
}

std::optional<Batch> Loader::next() {
  if (under_way_ && next_ == batches_) {
    set_epoch(epoch_ + 1);
    return std::nullopt;
  }
  if (order_.empty()) order_ = order(epoch_);
  const std::int64_t first = next_ * options_.batch;
  const std::int64_t count = std::min(options_.batch, dataset_.size() - first);
  Batch batch = make_batch(
      dataset_, std::span(order_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), next_);
  ++next_;
  under_way_ = true;
  return batch;
}

void Loader::set_epoch(std::int64_t epoch) {
  restore({options_.seed, epoch, 0});
}

LoaderState Loader::state() const {
  if (next_ == batches_) return {options_.seed, epoch_ + 1, 0};
  return {options_.seed, epoch_, next_};
}

void Loader::restore(const LoaderState& s) {
  check<ValueError>(s.epoch >= 0 && s.epoch < kMostEpochs, "Loader: epoch is ", s.epoch, ", but must be in [0, 2^31)");
  check<ValueError>(s.next >= 0 && s.next < batches_, "Loader: the state's next batch is ", s.next,
                    ", but an epoch has ", batches_, ". Use the data set and the batch size it was saved with");
  if (s.epoch != epoch_ || s.seed != options_.seed) order_.clear();
  options_.seed = s.seed;
  epoch_ = s.epoch;
  next_ = s.next;
  under_way_ = false;
}

std::vector<std::int64_t> Loader::order(std::int64_t epoch) const {
  check<ValueError>(epoch >= 0 && epoch < kMostEpochs, "Loader: epoch is ", epoch, ", but must be in [0, 2^31)");
  if (options_.shuffle) {
    Generator generator = shuffle_generator(options_.seed, epoch);
    return random_permutation(dataset_.size(), generator);
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(dataset_.size()));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace reel::data
