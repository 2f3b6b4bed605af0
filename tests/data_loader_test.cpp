#include <algorithm>
#include <cstring>
#include <numeric>

#include "reel/core/allocator_adaptors.h"
#include "reel/core/parallel.h"
#include "reel/data/loader.h"
#include "reel/tests/data_support.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using namespace reel::data;
using namespace reel::test;

namespace {

/// n samples of 3 x 4 x 5 bytes; the label of sample i is i, so that batches tell whom they hold.
Dataset numbered(std::int64_t n) {
  Dataset d;
  d.name = "numbered";
  d.images = Tensor::empty({n, 3, 4, 5}, DType::u8);
  for (std::int64_t i = 0; i < d.images.numel(); ++i)
    d.images.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 37 + i / 60);
  d.labels = Tensor::arange(n, DType::i64);
  d.classes = static_cast<int>(n);
  normalize(d, 255, {0.1, 0.5, 0.9}, {0.2, 0.3, 0.4});
  return d;
}

using Ids = std::vector<std::int64_t>;

/// The labels of the batches of one loop, batch by batch.
std::vector<Ids> one_epoch(Loader& loader) {
  std::vector<Ids> all;
  for (const auto& [images, labels] : loader) all.push_back(labels.to_vector<std::int64_t>());
  return all;
}
Ids flat(const std::vector<Ids>& batches) {
  Ids all;
  for (const Ids& b : batches) all.insert(all.end(), b.begin(), b.end());
  return all;
}
Ids sorted(Ids v) {
  std::sort(v.begin(), v.end());
  return v;
}
Ids range(std::int64_t n) {
  Ids v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0);
  return v;
}

}  // namespace

TEST_CASE("a batch holds the normalised pixels of its samples", "[data]") {
  const Dataset d = numbered(40);
  const Ids samples = {7, 0, 39, 7};
  const auto [images, labels] = make_batch(d, samples);
  REQUIRE(images.shape() == Shape{4, 3, 4, 5});
  REQUIRE(images.dtype() == DType::f32);
  CHECK(labels.to_vector<std::int64_t>() == samples);
  const double mean[] = {0.1, 0.5, 0.9}, stddev[] = {0.2, 0.3, 0.4};
  for (int i = 0; i < 4 * 60; ++i) {
    const int c = i % 60 / 20;
    const double pixel = d.images.data<std::uint8_t>()[samples[static_cast<std::size_t>(i / 60)] * 60 + i % 60];
    // Three roundings in f32, of numbers below 5.
    REQUIRE(std::abs(images.data<float>()[i] - (pixel / 255 - mean[c]) / stddev[c]) <= 4 * 5 * 0x1p-24);
  }
  CHECK_THROWS_AS(make_batch(d, Ids{40}), IndexError);
  CHECK_THROWS_AS(make_batch(d, Ids{-1}), IndexError);
}

TEST_CASE("f32 images and data sets without scale pass through", "[data]") {
  Dataset d = numbered(8);
  d.scale.clear();
  d.shift.clear();
  const Batch bytes = make_batch(d, range(8));
  CHECK(bytes.images.to_vector<float>() == d.images.to_vector<float>());
  d.images = Tensor::from(d.images.shape(), d.images.to_vector<float>());
  CHECK(make_batch(d, range(8)).images.to_vector<float>() == d.images.to_vector<float>());
  d.scale = {2};
  d.shift = {1};
  CHECK(make_batch(d, range(8)).images.data<float>()[477] == 2 * d.images.data<float>()[477] + 1);
}

TEST_CASE("a batch takes two allocations, whatever the number of threads", "[data]") {
  const Dataset d = numbered(5000);
  Loader loader(d, {.batch = 3000});
  const auto counter = std::make_shared<CountingAllocator>();
  const AllocatorScope scope(counter);
  const std::optional<Batch> batch = loader.next();
  CHECK(counter->stats().allocations == 2);
  const int threads = num_threads();
  set_num_threads(1);
  Ids samples = loader.order(0);
  samples.resize(3000);
  const Batch alone = make_batch(d, samples);
  set_num_threads(threads);
  CHECK(std::memcmp(alone.images.raw(), batch->images.raw(), 3000 * 60 * sizeof(float)) == 0);
}

TEST_CASE("an epoch holds every sample once", "[data]") {
  for (const std::int64_t n : {1, 9, 10, 11, 64}) {
    Loader loader(numbered(n), {.batch = 10});
    const std::vector<Ids> batches = one_epoch(loader);
    INFO(n << " samples");
    CHECK(sorted(flat(batches)) == range(n));
    CHECK(std::ssize(batches) == loader.batches());
    for (std::size_t i = 0; i + 1 < batches.size(); ++i) CHECK(batches[i].size() == 10);
  }
  Loader dropping(numbered(25), {.batch = 10, .drop_last = true});
  CHECK(dropping.batches() == 2);
  CHECK(flat(one_epoch(dropping)).size() == 20);
  Loader plain(numbered(25), {.batch = 10, .shuffle = false});
  for (int epoch = 0; epoch < 2; ++epoch) CHECK(flat(one_epoch(plain)) == range(25));
}

TEST_CASE("epochs and seeds give different orders, and the same ones again", "[data]") {
  Loader a(numbered(100), {.batch = 7, .seed = 5}), b(numbered(100), {.batch = 32, .seed = 5}),
      c(numbered(100), {.batch = 7, .seed = 6});
  const Ids first = flat(one_epoch(a)), second = flat(one_epoch(a));
  CHECK(first != second);
  CHECK(first != range(100));
  CHECK(flat(one_epoch(b)) == first);  // the order does not know the batch size
  CHECK(flat(one_epoch(b)) == second);
  CHECK(flat(one_epoch(c)) != first);
  CHECK(a.order(1) == second);
  a.set_epoch(0);
  CHECK(flat(one_epoch(a)) == first);
  CHECK(flat(one_epoch(a)) == second);
}

TEST_CASE("a loop that was left goes on with the next epoch", "[data]") {
  Loader loader(numbered(50), {.batch = 10});
  for (const Batch& batch : loader)
    if (batch.index == 2) break;
  CHECK(loader.state() == LoaderState{0, 0, 3});
  CHECK(flat(one_epoch(loader)) == loader.order(1));
  CHECK(loader.state() == LoaderState{0, 2, 0});
  for (const Batch& batch : loader)
    if (batch.index == 4) break;  // the last one: its epoch is done
  CHECK(loader.state() == LoaderState{0, 3, 0});
  CHECK(flat(one_epoch(loader)) == loader.order(3));
}

TEST_CASE("next gives nothing once between epochs", "[data]") {
  Loader loader(numbered(20), {.batch = 10});
  for (int epoch = 0; epoch < 3; ++epoch) {
    CHECK(loader.epoch() == epoch);
    CHECK(loader.next()->index == 0);
    CHECK(loader.next()->index == 1);
    CHECK_FALSE(loader.next().has_value());
  }
}

TEST_CASE("a restored loader gives the remaining batches", "[data]") {
  constexpr LoaderOptions options{.batch = 8, .seed = 3};
  Loader whole(numbered(60), options);
  std::vector<Ids> batches;
  std::vector<LoaderState> states = {whole.state()};
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const auto& [images, labels] : whole) {
      batches.push_back(labels.to_vector<std::int64_t>());
      states.push_back(whole.state());
    }
  REQUIRE(batches.size() == 24);
  for (std::size_t at = 0; at <= 24; ++at) {
    Loader resumed(numbered(60), {.batch = 8, .seed = 99});
    for (std::size_t i = 0; i < at % 5; ++i) (void)resumed.next();  // wherever it was before
    resumed.restore(states[at]);
    CHECK(resumed.state() == states[at]);
    std::vector<Ids> rest;
    while (rest.size() < 24 - at)
      for (const auto& [images, labels] : resumed) rest.push_back(labels.to_vector<std::int64_t>());
    INFO("resumed after batch " << at);
    REQUIRE(rest == std::vector<Ids>(batches.begin() + static_cast<std::ptrdiff_t>(at), batches.end()));
  }
}

TEST_CASE("the state may be restored inside a loop", "[data]") {
  Loader loader(numbered(30), {.batch = 10});
  std::vector<std::int64_t> seen;
  bool again = true;
  for (const Batch& batch : loader) {
    seen.push_back(batch.index);
    if (batch.index == 1 && again) {
      again = false;
      loader.restore({0, 0, 0});
    }
  }
  CHECK(seen == std::vector<std::int64_t>{0, 1, 0, 1, 2});
}

TEST_CASE("options and states out of range are refused", "[data]") {
  CHECK_THROWS_AS(Loader(numbered(10), {.batch = 0}), ValueError);
  CHECK_THROWS_AS(Loader(numbered(10), {.batch = -5}), ValueError);
  CHECK_THROWS_AS(Loader(numbered(10), {.batch = 11, .drop_last = true}), ValueError);
  CHECK_THROWS_AS(Loader(numbered(0)), ValueError);
  Loader loader(numbered(10), {.batch = 5});
  CHECK_THROWS_AS(loader.set_epoch(-1), ValueError);
  CHECK_THROWS_AS(loader.set_epoch(std::int64_t{1} << 31), ValueError);
  CHECK_THROWS_AS(loader.restore({0, 0, 2}), ValueError);
  CHECK_THROWS_AS(loader.restore({0, 0, -1}), ValueError);
  CHECK_THROWS_AS(loader.restore({0, -1, 0}), ValueError);
  CHECK(loader.state() == LoaderState{});
  Loader huge(numbered(3), {.batch = INT64_MAX});
  CHECK(flat(one_epoch(huge)) == huge.order(0));
}

TEST_CASE("data sets that contradict themselves are refused", "[data]") {
  Dataset d = numbered(10);
  d.classes = 9;
  CHECK(message_of([&] { Loader{d}; }).find("label 9 is 9") != std::string::npos);
  d = numbered(10);
  d.labels.data<std::int64_t>()[4] = -2;
  CHECK(message_of([&] { Loader{d}; }).find("label 4 is -2") != std::string::npos);
  d = numbered(10);
  d.labels = Tensor::arange(9, DType::i64);
  CHECK_THROWS_AS(Loader(d), ShapeError);
  d.labels = Tensor::arange(10, DType::i32);
  CHECK_THROWS_AS(Loader(d), DTypeError);
  d = numbered(10);
  d.images = Tensor::zeros({10, 3, 4, 5}, DType::f64);
  CHECK_THROWS_AS(Loader(d), DTypeError);
  d = numbered(10);
  d.scale = {1, 2};
  CHECK_THROWS_AS(Loader(d), ValueError);
  CHECK_THROWS_AS(Loader(Dataset{}), ShapeError);
  CHECK_THROWS_AS(normalize(d, 255, {0.5}, {0}), ValueError);
  CHECK_THROWS_AS(normalize(d, 255, {0.5}, {}), ValueError);
}
