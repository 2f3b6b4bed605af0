// Every layer: PyTorch's names and shapes, first values, and results.
#include <cmath>

#include "reel/autograd/ops.h"
#include "reel/autograd/tape.h"
#include "reel/nn/attention.h"
#include "reel/nn/conv.h"
#include "reel/nn/init.h"
#include "reel/nn/norm.h"
#include "reel/nn/sequential.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using Catch::Matchers::Equals;
using Doubles = std::vector<double>;

namespace {

/// "weight [5, 3] f32, ..." in the order of torch's state_dict.
std::string entries(const nn::Module& m) {
  std::string s;
  for (const auto& list : {m.named_parameters(), m.named_buffers()})
    for (const auto& [name, t] : list)
      s += (s.empty() ? "" : ", ") + name + " " + to_string(t.shape()) + " " + std::string(name_of(t.dtype()));
  return s;
}

/// All within [-b, b], not all small, and with the variance of U(-b, b) within 5 deviations.
void check_uniform(const Tensor& t, double b) {
  double largest = 0, squares = 0;
  for (const double v : t.to_vector<double>()) {
    largest = std::max(largest, std::abs(v));
    squares += v * v;
  }
  const double n = static_cast<double>(t.numel());
  CHECK(largest <= b * (1 + 0x1p-20));
  CHECK(largest > 0.8 * b);
  CHECK(std::abs(squares / n - b * b / 3) < 5 * b * b * std::sqrt(4.0 / 45 / n));
}
void check_normal(const Tensor& t, double deviation) {
  double squares = 0;
  for (const double v : t.to_vector<double>()) squares += v * v;
  const double n = static_cast<double>(t.numel());
  CHECK(std::abs(squares / n / (deviation * deviation) - 1) < 5 * std::sqrt(2 / n));
}
/// Overwrites in place.
void set(const Tensor& t, double scale, double shift) {
  for (std::int64_t i = 0; i < t.numel(); ++i) t.data<double>()[i] = static_cast<double>(i) * scale + shift;
}
void check_near(const Tensor& got, const Doubles& want, double bound = 1e-14) {
  const Doubles v = got.to_vector<double>();
  REQUIRE(v.size() == want.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    INFO("element " << i << ", got " << v[i] << ", expected " << want[i]);
    CHECK(std::abs(v[i] - want[i]) <= bound);
  }
}

const nn::Random kRandom(11);

}  // namespace

TEST_CASE("names and shapes are those of torch's state_dict", "[nn]") {
  CHECK(entries(nn::Linear({.in = 3, .out = 5}, kRandom)) == "weight [5, 3] f32, bias [5] f32");
  CHECK(entries(nn::Linear({.in = 3, .out = 5, .bias = false}, kRandom)) == "weight [5, 3] f32");
  CHECK(entries(nn::Conv2d({.in = 4, .out = 6, .kernel = 3, .groups = 2}, kRandom)) ==
        "weight [6, 2, 3, 3] f32, bias [6] f32");
  CHECK(entries(nn::ConvTranspose2d({.in = 4, .out = 6, .kernel = {3, 2}, .groups = 2}, kRandom)) ==
        "weight [4, 3, 3, 2] f32, bias [6] f32");
  CHECK(entries(nn::BatchNorm2d({.channels = 4})) ==
        "weight [4] f32, bias [4] f32, running_mean [4] f32, running_var [4] f32, "
        "num_batches_tracked [] i64");
  CHECK(entries(nn::LayerNorm({3, 5})) == "weight [3, 5] f32, bias [3, 5] f32");
  CHECK(entries(nn::RMSNorm({5})) == "weight [5] f32");
  CHECK(entries(nn::GroupNorm({.groups = 2, .channels = 4})) == "weight [4] f32, bias [4] f32");
  CHECK(entries(nn::Embedding({.num = 7, .dim = 3}, kRandom)) == "weight [7, 3] f32");
  CHECK(entries(nn::MultiHeadAttention({.embed = 8, .heads = 2}, kRandom)) ==
        "in_proj_weight [24, 8] f32, in_proj_bias [24] f32, out_proj.weight [8, 8] f32, "
        "out_proj.bias [8] f32");
  CHECK(
      entries(nn::Sequential(nn::Linear({.in = 2, .out = 3}, kRandom), nn::ReLU(), nn::BatchNorm2d({.channels = 3}))) ==
      "0.weight [3, 2] f32, 0.bias [3] f32, 2.weight [3] f32, 2.bias [3] f32, 2.running_mean [3] "
      "f32, 2.running_var [3] "
      "f32, 2.num_batches_tracked [] i64");
  CHECK(entries(nn::GELU()).empty());
}

TEST_CASE("first values are those of torch", "[nn]") {
  const nn::Linear fc({.in = 100, .out = 400}, kRandom);
  check_uniform(fc.weight(), 0.1);
  check_uniform(fc.bias(), 0.1);
  const nn::Conv2d conv({.in = 32, .out = 64, .kernel = {3, 5}, .groups = 2}, kRandom);
  check_uniform(conv.weight(), 1 / std::sqrt(16.0 * 15));
  check_uniform(conv.bias(), 1 / std::sqrt(16.0 * 15));
  const nn::ConvTranspose2d up({.in = 64, .out = 32, .kernel = 3, .groups = 2}, kRandom);
  check_uniform(up.weight(), 1 / std::sqrt(16.0 * 9));
  check_normal(nn::Embedding({.num = 100, .dim = 64}, kRandom).weight(), 1);
  const nn::MultiHeadAttention attention({.embed = 64, .heads = 4}, kRandom);
  check_uniform(attention.in_proj_weight(), std::sqrt(6.0 / (64 + 192)));
  check_uniform(attention.out_proj().weight(), 0.125);
  for (const float v : attention.out_proj().bias().to_vector()) CHECK(v == 0);
  for (const float v : nn::BatchNorm2d({.channels = 3}).running_var().to_vector()) CHECK(v == 1);
}

TEST_CASE("initialisers have the ranges of their papers", "[nn]") {
  const Tensor t = Tensor::empty({300, 20, 5});  // fan_in 100, fan_out 1500
  check_uniform(nn::init::kaiming_uniform(t, kRandom), 0.1);
  check_uniform(nn::init::kaiming_uniform(t, kRandom, 0), std::sqrt(6.0 / 100));
  check_normal(nn::init::kaiming_normal(t, kRandom), std::sqrt(2.0 / 100));
  check_uniform(nn::init::xavier_uniform(t, kRandom, 2), 2 * std::sqrt(6.0 / 1600));
  check_normal(nn::init::xavier_normal(t, kRandom), std::sqrt(2.0 / 1600));
  check_normal(nn::init::normal(t, kRandom, 0, 3), 3);
  const std::uint32_t version = t.version();
  CHECK(nn::init::ones(t).to_vector()[7] == 1);
  CHECK(nn::init::zeros(t).to_vector()[7] == 0);
  CHECK(nn::init::constant(t, 0.5).to_vector()[7] == 0.5);
  CHECK(t.version() == version + 3);
  CHECK_THROWS_AS(nn::init::xavier_normal(Tensor::empty({4}), kRandom), ShapeError);
  CHECK_THROWS_AS(nn::init::normal(Tensor::empty({4}, DType::i64), kRandom), DTypeError);
}

TEST_CASE("batch norm normalises by the biased variance and keeps the unbiased one", "[nn]") {
  // As torch.nn.BatchNorm2d(2).double().
  const Tensor x = Tensor::from({2, 2, 1, 2}, {1, 2, 3, 5, 0, 4, -1, 2}, DType::f64);
  const nn::BatchNorm2d bn({.channels = 2});
  bn.to(DType::f64);
  check_near(bn(x), {-0.50709139377239165, 0.16903046459079718, 0.3464097920101944, 1.270169237370713,
                     -1.1832132521355805, 1.5212741813171748, -1.5011090987108426, -0.11546993067006484});
  check_near(bn.running_mean(), {0.175, 0.225});
  check_near(bn.running_var(), {1.1916666666666667, 1.525});
  CHECK(bn.num_batches_tracked().item() == 1);
  bn.eval();
  check_near(bn(x), {0.75574403953630864, 1.6717974207924404, 2.2471219486456233, 3.8666692990208471,
                     -0.16030934171982308, 3.5039041833047042, -0.99197275210482472, 1.4373482734580114});
  check_near(bn.running_mean(), {0.175, 0.225});
  CHECK(bn.num_batches_tracked().item() == 1);
}

TEST_CASE("batch norm updates its statistics in place, unrecorded", "[nn]") {
  const nn::BatchNorm2d bn({.channels = 2});
  const Tensor mean = bn.running_mean();
  const std::uint32_t version = mean.version();
  Tape tape;
  const Tensor y = bn(Tensor::from({2, 2, 1, 2}, {1, 2, 3, 5, 0, 4, -1, 2}));
  CHECK(tape.rows().size() == 1);
  CHECK(bn.running_mean().id() == mean.id());
  CHECK(mean.version() > version);
  tape.backward(sum(y * y));
  CHECK(bn.weight().grad());
  CHECK_THROWS_WITH(bn(Tensor::zeros({1, 2, 1, 1})),
                    Equals("BatchNorm2d: training needs more than one value per channel, but "
                           "x is [1, 2, 1, 1]. Use a larger batch, or eval()"));
  CHECK_THROWS_WITH(bn(Tensor::zeros({1, 3, 2, 2})),
                    Equals("BatchNorm2d: needs x [n, 2, h, w], but its shape is [1, 3, 2, 2]"));
}

TEST_CASE("multi-head attention equals torch's", "[nn]") {
  const Doubles plain{-0.4498646194595679,  -0.062579784342570083, 0.32470505077442774, 0.71198988589142564,
                      -0.44934008977400985, -0.064467305920664714, 0.32040547793268037, 0.7052782617860256,
                      -0.44724670199375854, -0.057422654518721306, 0.33240139295631588, 0.72222544043135317};
  const Doubles causal{-0.64835336097935614, -0.13083693798864404,  0.38667948500206806, 0.90419590799278016,
                       -0.8100123722746011,  -0.18813319011192978,  0.43374599205074155, 1.0556251742134131,
                       -0.44724670199375854, -0.057422654518721306, 0.33240139295631588, 0.72222544043135317};
  Tensor x = Tensor::empty({1, 3, 4}, DType::f64);
  for (int i = 0; i < 12; ++i) x.data<double>()[i] = std::sin(i * 0.37);
  for (const bool hide : {false, true}) {
    const nn::MultiHeadAttention m({.embed = 4, .heads = 2, .causal = hide}, kRandom);
    m.to(DType::f64);
    set(m.in_proj_weight(), 0.013, -0.3);
    set(m.in_proj_bias(), 0.02, -0.1);
    set(m.out_proj().weight(), 0.05, -0.4);
    set(m.out_proj().bias(), 0.1, 0);
    const Doubles& want = hide ? causal : plain;
    check_near(m(x), want);
    check_near(m(x, x, x), want);
    check_near(m(reshape(x, {3, 4})), want);  // without a batch
    CHECK_THROWS_WITH(m(Tensor::zeros({3, 5})),
                      Equals("MultiHeadAttention: needs x [..., t, 4], but its shape is [3, 5]"));
    CHECK_THROWS_WITH(m(x, Tensor::zeros({3, 5}), x),
                      Equals("MultiHeadAttention: needs key [..., t, 4], but its shape is [3, 5]"));
  }
}

TEST_CASE("dropout draws in training only", "[nn]") {
  const nn::Random random(3);
  const nn::Dropout half(0.5, random);
  const Tensor x = Tensor::full({1000}, 1);
  int zeros = 0;
  for (const float v : half(x).to_vector()) {
    CHECK((v == 0 || v == 2));
    zeros += v == 0;
  }
  CHECK(std::abs(zeros - 500) < 5 * 16);
  const std::uint64_t position = random.generator().position();
  CHECK(position > 0);
  half.eval();
  CHECK(half(x).to_vector() == x.to_vector());
  CHECK(random.generator().position() == position);
  CHECK_THROWS_WITH(nn::Dropout(1, random), Equals("Dropout: p must be from 0 to below 1, but is 1"));
}

TEST_CASE("layers call the ops of their names", "[nn]") {
  const Tensor image = reshape(Tensor::arange(16), {1, 1, 4, 4}), row = Tensor::from({1, 2}, {-1, 2});
  CHECK(nn::MaxPool2d()(image).to_vector<double>() == Doubles{5, 7, 13, 15});
  CHECK(nn::MaxPool2d({.kernel = 2, .stride = nn::Size2d{1, 2}})(image).shape() == Shape{1, 1, 3, 2});
  CHECK(nn::AvgPool2d({.kernel = 4})(image).to_vector<double>() == Doubles{7.5});
  CHECK(nn::AdaptiveAvgPool2d()(image).shape() == Shape{1, 1, 1, 1});
  CHECK(nn::Flatten()(image).shape() == Shape{1, 16});
  CHECK(nn::ReLU()(row).to_vector<double>() == Doubles{0, 2});
  CHECK(nn::Tanh()(row).to_vector() == tanh(row).to_vector());
  CHECK(nn::Sigmoid()(row).to_vector() == sigmoid(row).to_vector());
  CHECK(nn::SiLU()(row).to_vector() == silu(row).to_vector());
  CHECK(nn::GELU()(row).to_vector() == gelu(row).to_vector());
  CHECK(nn::GELU(nn::Approximate::tanh)(row).to_vector() == gelu_tanh(row).to_vector());
  CHECK(nn::Conv2d({.in = 1, .out = 3, .kernel = 3, .stride = 2, .padding = 1}, kRandom)(image).shape() ==
        Shape{1, 3, 2, 2});
  CHECK(nn::ConvTranspose2d({.in = 1, .out = 2, .kernel = 3, .stride = 2}, kRandom, 1)(image).shape() ==
        Shape{1, 2, 10, 10});
  check_near(nn::LayerNorm({2}, 0)(row), {-1, 1}, 1e-6);
  check_near(nn::RMSNorm({2}, 0)(row), {-std::sqrt(0.4), 2 * std::sqrt(0.4)}, 1e-6);
  CHECK(nn::GroupNorm({.groups = 1, .channels = 2})(row).shape() == Shape{1, 2});
  CHECK_THROWS_WITH(nn::LayerNorm({3})(row), Equals("LayerNorm: the last sizes differ: x [1, 2], layer [3]"));
  const nn::Embedding e({.num = 3, .dim = 2}, kRandom);
  CHECK(e(Tensor::from({2}, {2, 0}, DType::i64)).to_vector()[0] == e.weight().to_vector()[4]);
}

TEST_CASE("options of layers are named with their value", "[nn]") {
  CHECK_THROWS_WITH(nn::Linear({.in = 0, .out = 1}, kRandom), Equals("Linear: in must be at least 1, but is 0"));
  CHECK_THROWS_WITH(nn::Linear({.in = 1, .out = -1}, kRandom), Equals("Linear: out must be at least 1, but is -1"));
  CHECK_THROWS_WITH(nn::Embedding({.num = 0, .dim = 1}, kRandom),
                    Equals("Embedding: num must be at least 1, but is 0"));
  CHECK_THROWS_WITH(nn::Conv2d({.in = 3, .out = 4, .groups = 2}, kRandom),
                    Equals("Conv2d: groups 2 must divide both in 3 and out 4"));
  CHECK_THROWS_WITH(nn::Conv2d({.in = 1, .out = 1, .stride = {1, 0}}, kRandom),
                    Equals("Conv2d: stride must be at least 1, but is 1 x 0"));
  CHECK_THROWS_WITH(nn::MaxPool2d({.kernel = 0}), Equals("MaxPool2d: kernel must be at least 1, but is 0 x 0"));
  CHECK_THROWS_WITH(nn::BatchNorm2d({.channels = 0}), Equals("BatchNorm2d: channels must be at least 1, but is 0"));
  CHECK_THROWS_WITH(nn::BatchNorm2d({.channels = 1, .momentum = 2}),
                    Equals("BatchNorm2d: momentum must be from 0 to 1, but is 2"));
  CHECK_THROWS_WITH(nn::LayerNorm({}), Equals("LayerNorm: shape must have positive sizes, but is []"));
  CHECK_THROWS_WITH(nn::GroupNorm({.groups = 3, .channels = 4}), Equals("GroupNorm: groups 3 must divide channels 4"));
  CHECK_THROWS_WITH(nn::MultiHeadAttention({.embed = 6, .heads = 4}, kRandom),
                    Equals("MultiHeadAttention: heads 4 must divide embed 6"));
}
