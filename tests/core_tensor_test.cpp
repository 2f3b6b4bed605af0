#include "reel/core/tensor.h"

#include <numeric>

#include "reel/core/allocator_adaptors.h"
#include "reel/core/log.h"
#include "reel/core/view.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using Catch::Matchers::Contains;
using Floats = std::vector<float>;

TEST_CASE("shapes: rank, counts and overflow are checked", "[shape]") {
  CHECK(numel({}) == 1);
  CHECK(numel({3, 0, 5}) == 0);
  CHECK(to_string(Shape{2, 3}) == "[2, 3]");
  CHECK_THROWS_AS(numel({-1, 2}), ShapeError);
  CHECK_THROWS_AS(numel({std::int64_t{1} << 40, std::int64_t{1} << 40}), ShapeError);
  CHECK_THROWS_AS(numel({0, std::int64_t{1} << 62, std::int64_t{1} << 62}), ShapeError);
  CHECK_THROWS_AS(numel({4194305, 4194305, 211106198978564}), ShapeError);
  CHECK_THROWS_AS((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), ShapeError);
  CHECK_THROWS_WITH(broadcast({2, 3}, {4, 3}, "add"), Contains("add: shapes do not broadcast: [2, 3], [4, 3]"));
  CHECK(broadcast({5, 1, 3}, {4, 1}, "") == Shape{5, 4, 3});
  CHECK_THROWS_WITH(normalize_dim(2, {3, 4}, "sum"), Contains("sum: dimension 2 is out of range for shape [3, 4]"));
}

TEST_CASE("tensors: making, reading, errors", "[tensor]") {
  CHECK(Tensor::from({2, 2}, {1, 2, 3, 4}).to_vector() == Floats{1, 2, 3, 4});
  CHECK_THROWS_WITH(Tensor::from({2, 2}, {1, 2, 3}), Contains("shape [2, 2] holds 4 values, but 3 were given"));
  CHECK(Tensor::arange(3, DType::i64).to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 2});
  CHECK(Tensor::scalar(2.5).item() == 2.5);
  CHECK_THROWS_WITH(Tensor::zeros({2}).item(), Contains("needs one element, but the shape is [2]"));
  CHECK_THROWS_WITH(Tensor::zeros({2}).data<double>(), Contains("the tensor is f32, but f64 was asked for"));
  CHECK_THROWS_AS(Tensor::zeros({2}, DType::i64).set_requires_grad(), DTypeError);
  CHECK_THROWS_WITH(Tensor::zeros({2}, DType::f32, Device::cuda(0)), Contains("cuda:0 cannot be used"));
  CHECK(Tensor::zeros({0, 3}).to_vector().empty());
  CHECK_FALSE(Tensor());
  CHECK(Tensor::zeros({1}).id() != Tensor::zeros({1}).id());
}

TEST_CASE("views share the numbers", "[view]") {
  const Tensor t = Tensor::arange(24), x = *view::try_reshape(t, {2, 3, 4});
  CHECK(view::slice(x, 1, 1, 3).to_vector() == Floats{4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23});
  CHECK(view::slice(x, 2, 1, 4, 2).to_vector() == Floats{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23});
  CHECK(view::select(x, 0, -1).to_vector() == Floats{12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
  CHECK(view::transpose(view::select(x, 0, 0), 0, 1).to_vector() == Floats{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  CHECK(view::permute(x, {2, 0, 1}).shape() == Shape{4, 2, 3});
  CHECK(view::expand(view::unsqueeze(Tensor::arange(2), 1), {2, 3}).to_vector() == Floats{0, 0, 0, 1, 1, 1});
  CHECK(view::squeeze(view::unsqueeze(x, 0), 0).strides() == x.strides());
  view::select(x, 0, 0).data<float>()[0] = 100;
  CHECK(t.data<float>()[0] == 100);
  CHECK_THROWS_WITH(view::select(x, 1, 3),
                    Contains("select: index 3 is out of range for dimension 1 of shape [2, 3, 4]"));
  CHECK_THROWS_AS(view::slice(x, 0, 1, 3), IndexError);
  CHECK_THROWS_AS(view::permute(x, {0, 0, 1}), ShapeError);
  CHECK_THROWS_AS(view::as_strided(x, {5}, {6}, 0), ShapeError);
}

TEST_CASE("reshape copies only when it must", "[view]") {
  const Tensor x = *view::try_reshape(Tensor::arange(24), {2, 3, 4});
  CHECK(view::try_reshape(x, {6, 4}));
  CHECK(view::try_reshape(view::slice(x, 0, 0, 1), {3, 4}));
  CHECK(view::try_reshape(view::slice(x, 2, 0, 2), {6, 2}));        // the first two dimensions still join
  CHECK_FALSE(view::try_reshape(view::slice(x, 2, 0, 2), {3, 4}));  // the last two do not
  CHECK_FALSE(view::try_reshape(view::transpose(x, 1, 2), {24}));
  CHECK(view::try_reshape(view::transpose(x, 1, 2), {2, 2, 2, 3}));  // splitting a dimension
  const Tensor e = view::expand(Tensor::arange(1), {4, 6});
  REQUIRE(view::try_reshape(e, {24}));
  CHECK(view::try_reshape(e, {24})->to_vector() == Floats(24, 0.0f));
  for (const Shape& s : {Shape{2, 2, 2, 3}, Shape{2, 1, 4, 1, 3}})
    CHECK(view::try_reshape(view::transpose(x, 1, 2), s)->to_vector() == view::transpose(x, 1, 2).to_vector());
  CHECK(view::infer_shape(12, {3, -1}) == Shape{3, 4});
  CHECK_THROWS_WITH(view::infer_shape(12, {5, -1}), Contains("12 elements do not fill the shape [5, -1]"));
  CHECK_THROWS_AS(view::infer_shape(12, {-1, -1}), ShapeError);
}

TEST_CASE("layouts are recognised", "[view]") {
  CHECK(view::layout_of({2, 3, 4, 5}, row_major({2, 3, 4, 5})) == Layout::row_major);
  CHECK(view::layout_of({2, 3, 4, 5}, channels_last({2, 3, 4, 5})) == Layout::channels_last);
  CHECK(view::layout_of({2, 1, 4, 5}, channels_last({2, 1, 4, 5})) ==
        Layout::row_major);  // one channel: the same memory
  CHECK(view::layout_of({2, 3}, {1, 2}) == Layout::strided);
  CHECK(view::layout_of({1, 3}, {77, 1}) == Layout::row_major);
}

TEST_CASE("allocator: statistics, reuse and adaptors", "[allocator]") {
  const auto counter = std::make_shared<CountingAllocator>();
  {
    const AllocatorScope scope(counter);
    const Tensor a = Tensor::zeros({100}), b = Tensor::zeros({50});
    CHECK(counter->stats().current == 600);
  }
  CHECK(counter->stats().current == 0);
  CHECK(counter->stats().peak == 600);
  CHECK(counter->stats().allocations == 2);

  { const Tensor warm = Tensor::zeros({1000, 1000}); }
  const auto calls = system_allocator().stats().system_calls;
  for (int i = 0; i < 10; ++i) Tensor::zeros({1000, 1000});
  CHECK(system_allocator().stats().system_calls == calls);
  system_allocator().trim();
  CHECK(system_allocator().stats().cached == 0);

  const AllocatorScope limited(std::make_shared<LimitingAllocator>(1000));
  const Tensor held = Tensor::zeros({200});
  CHECK_THROWS_WITH(Tensor::zeros({100}),
                    Contains("out of memory: asked for 400 bytes on cpu; 800 in use of a limit of 1000"));
  CHECK_NOTHROW(Tensor::zeros({50}));  // usable after the error
}

TEST_CASE("tensors outlive the allocator scope they came from", "[allocator]") {
  Tensor t;
  {
    const AllocatorScope scope(std::make_shared<CountingAllocator>());
    t = Tensor::full({3}, 7);
  }
  CHECK(t.to_vector() == Floats{7, 7, 7});
}

TEST_CASE("the poisoning allocator shows unwritten and overrun memory", "[allocator]") {
  const auto poison = std::make_shared<PoisoningAllocator>();
  const AllocatorScope scope(poison);
  {
    const Tensor t = Tensor::empty({4});
    for (const float v : t.to_vector()) CHECK(std::isnan(v));
    CHECK(PoisoningAllocator::intact(t.raw(), 16));
    t.data<float>()[4] = 1;  // one beyond the end
    CHECK_FALSE(PoisoningAllocator::intact(t.raw(), 16));
  }
  CHECK(poison->damaged() == 1);
}

TEST_CASE("the failing allocator fails once, at the n-th call", "[allocator]") {
  const auto failing = std::make_shared<FailingAllocator>(2);
  const AllocatorScope scope(failing);
  CHECK_NOTHROW(Tensor::zeros({1}));
  CHECK_THROWS_AS(Tensor::zeros({1}), OutOfMemory);
  CHECK_NOTHROW(Tensor::zeros({1}));
}

TEST_CASE("an absurd size is out of memory, not a crash", "[allocator]") {
  CHECK_THROWS_AS(Tensor::empty({std::int64_t{1} << 50}), OutOfMemory);
  CHECK_THROWS_AS(Tensor::empty({std::int64_t{1} << 61}, DType::f64), OutOfMemory);
}

TEST_CASE("the log callback gets messages and may throw", "[log]") {
  std::vector<std::string> seen;
  set_log_callback([&](LogLevel level, std::string_view text) {
    seen.push_back((level == LogLevel::warning ? "W " : "I ") + std::string(text));
    throw 1;
  });
  log_warning("scale ", 2);
  log_info("ok");
  set_log_callback({});
  log_info("dropped");
  CHECK(seen == std::vector<std::string>{"W scale 2", "I ok"});
}

TEST_CASE("devices by name", "[device]") {
  CHECK(device_from("cpu") == Device::cpu());
  CHECK(device_from("cuda:1") == Device::cuda(1));
  CHECK_THROWS_WITH(device_from("gpu"), Contains("unknown name \"gpu\""));
}
