// The small models, and the summary of what they cost.
#include "reel/nn/models.h"

#include <cmath>

#include "reel/autograd/ops.h"
#include "reel/autograd/tape.h"
#include "reel/nn/gpt.h"
#include "reel/nn/layers.h"
#include "reel/nn/summary.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

namespace {

std::string names_of(const nn::Module& m) {
  std::string s;
  for (const auto& [name, t] : m.parameters()) s += name + " ";
  return s;
}
/// Every parameter gets a finite gradient that is not all zero.
void check_trains(const nn::Module& m, const Tensor& x) {
  Tape tape;
  const Tensor y = m(x);
  tape.backward(sum(y * y));
  for (const auto& [name, t] : m.parameters()) {
    INFO(name);
    REQUIRE(t.grad());
    double size = 0;
    for (const double v : t.grad().to_vector<double>()) size += std::abs(v);
    CHECK(std::isfinite(size));
    CHECK(size > 0);
  }
}
Tensor image(const Shape& shape) {
  Generator g(1);
  return normal(shape, g);
}
const nn::SummaryRow& row(const nn::Summary& s, const std::string& name) {
  for (const nn::SummaryRow& r : s.rows)
    if (r.name == name) return r;
  FAIL("no row " << name);
  return s.total;
}

}  // namespace

TEST_CASE("an mlp has a ReLU between its layers", "[nn]") {
  const nn::Sequential m = nn::mlp({6, 5, 3});
  CHECK(names_of(m) == "0.weight 0.bias 2.weight 2.bias ");
  CHECK(m(Tensor::zeros({4, 6})).shape() == Shape{4, 3});
  check_trains(nn::mlp({6, 50, 3}), image({4, 6}));
  CHECK_THROWS_WITH(nn::mlp({3}), Equals("mlp: needs at least two sizes, but got 1"));
}

TEST_CASE("lenet takes images of several sizes", "[nn]") {
  for (const auto& [c, h, w] : {std::array<std::int64_t, 3>{1, 28, 28}, {3, 32, 32}, {1, 8, 8}, {2, 9, 7}}) {
    const nn::Sequential m = nn::lenet({.channels = c, .height = h, .width = w, .classes = 7, .dropout = 0.1});
    CHECK(m(image({2, c, h, w})).shape() == Shape{2, 7});
    CHECK(names_of(m) == "conv1.weight conv1.bias conv2.weight conv2.bias fc1.weight fc1.bias fc2.weight fc2.bias ");
  }
  check_trains(nn::lenet({.height = 8, .width = 8}), image({2, 1, 8, 8}));
  CHECK_THROWS_WITH(nn::lenet({.height = 3}), Equals("lenet: height must be at least 4, but is 3"));
}

TEST_CASE("cnn has one linear layer", "[nn]") {
  const nn::Sequential m = nn::cnn();
  CHECK(names_of(m) == "conv1.weight conv1.bias conv2.weight conv2.bias fc.weight fc.bias ");
  CHECK(m.state().at("fc.weight").shape() == Shape{10, 3136});
  CHECK(m(image({2, 1, 28, 28})).shape() == Shape{2, 10});
}

TEST_CASE("resnet has torch's names and a shortcut where sizes change", "[nn]") {
  const nn::Sequential m = nn::resnet({.width = 4, .blocks = 2});
  const State s = m.state();
  CHECK(s.contains("conv1.weight"));
  CHECK(s.contains("bn1.running_var"));
  CHECK(s.contains("layer1.1.bn2.num_batches_tracked"));
  CHECK_FALSE(s.contains("layer1.0.downsample.0.weight"));
  CHECK(s.at("layer2.0.downsample.0.weight").shape() == Shape{8, 4, 1, 1});
  CHECK(s.contains("layer2.0.downsample.1.running_mean"));
  CHECK_FALSE(s.contains("layer2.1.downsample.0.weight"));
  CHECK(s.at("fc.weight").shape() == Shape{10, 16});
  CHECK(m(image({2, 3, 9, 8})).shape() == Shape{2, 10});
  check_trains(m, image({2, 3, 8, 8}));
}

TEST_CASE("gpt sees earlier tokens only, and shares its embedding with the output", "[nn]") {
  const nn::GPT m({.vocab = 11, .context = 6, .layers = 2, .heads = 2, .width = 8});
  CHECK(
      names_of(m).starts_with("wte.weight wpe.weight h.0.ln_1.weight h.0.ln_1.bias h.0.attn.in_proj_weight "
                              "h.0.attn.in_proj_bias h.0.attn.out_proj.weight h.0.attn.out_proj.bias h.0.ln_2.weight "
                              "h.0.ln_2.bias h.0.mlp.c_fc.weight h.0.mlp.c_fc.bias h.0.mlp.c_proj.weight "
                              "h.0.mlp.c_proj.bias h.1."));
  CHECK(names_of(m).ends_with("ln_f.weight ln_f.bias "));
  const Tensor a = Tensor::from({1, 5}, {1, 2, 3, 4, 5}, DType::i64),
               b = Tensor::from({1, 5}, {1, 2, 3, 9, 10}, DType::i64);
  const Tensor ya = m(a), yb = m(b);
  CHECK(ya.shape() == Shape{1, 5, 11});
  CHECK(slice(ya, 1, 0, 3).to_vector() == slice(yb, 1, 0, 3).to_vector());
  CHECK(slice(ya, 1, 3).to_vector() != slice(yb, 1, 3).to_vector());
  CHECK_THROWS_WITH(m(Tensor::zeros({1, 7}, DType::i64)),
                    Equals("GPT: the sequence has 7 tokens, but the context is 6. Cut it, "
                           "or make a model with a longer context"));
  // Both uses of wte add to its gradient: rows of tokens that never occur get one from the output
  // layer.
  Tape tape;
  tape.backward(sum(square(m(a))));
  const auto g = m.wte().weight().grad().to_vector();
  CHECK(g[10 * 8] != 0);
  CHECK(m.named_parameters().size() == 2 + 2 * 12 + 2);
}

TEST_CASE("the summary of lenet, by hand", "[nn]") {
  const nn::Sequential m = nn::lenet({.dropout = 0.5});
  const State before = m.state();
  const std::uint64_t position = m.random().generator().position();
  const nn::Summary s = nn::summary(m, {1, 1, 28, 28});
  CHECK(row(s, "conv1").parameters == 32 * 9 + 32);
  CHECK(row(s, "conv2").parameters == 64 * 32 * 9 + 64);
  CHECK(row(s, "fc1").parameters == 3136 * 128 + 128);
  CHECK(row(s, "fc2").parameters == 128 * 10 + 10);
  CHECK(s.total.parameters == 320 + 18496 + 401536 + 1290);
  CHECK(s.trainable == s.total.parameters);
  CHECK(s.parameter_bytes == 4.0 * static_cast<double>(s.total.parameters));
  CHECK(row(s, "conv1").output == Shape{1, 32, 28, 28});
  CHECK(row(s, "pool1").output == Shape{1, 32, 14, 14});
  CHECK(row(s, "conv2").output == Shape{1, 64, 14, 14});
  CHECK(row(s, "flatten").output == Shape{1, 3136});
  CHECK(row(s, "fc2").output == Shape{1, 10});
  CHECK(row(s, "conv1").type == "Conv2d");
  CHECK(row(s, "dropout").ops == 0);  // passes its input on
  // A multiplication and an addition for each weight and place, and up to one addition of the bias.
  const auto products = [&](const std::string& name, double n, double outputs) {
    INFO(name << " " << row(s, name).flops);
    CHECK(row(s, name).flops >= 2 * n);
    CHECK(row(s, name).flops <= 2 * n + outputs);
  };
  products("conv1", 28 * 28 * 32 * 9.0, 28 * 28 * 32);
  products("conv2", 14 * 14 * 64 * 32 * 9.0, 14 * 14 * 64);
  products("fc1", 3136 * 128.0, 128);
  products("fc2", 1280, 10);
  CHECK(row(s, "relu1").flops == 28 * 28 * 32);
  CHECK(row(s, "conv1").activation_bytes == 4.0 * 32 * 28 * 28);
  double flops = 0, bytes = 0;
  for (const nn::SummaryRow& r : s.rows) {
    flops += r.flops;
    bytes += r.activation_bytes;
  }
  CHECK(s.total.flops == flops);
  CHECK(s.total.activation_bytes == bytes);
  CHECK(s.rows.size() == 11);
  CHECK(s.rows[0].name == "conv1");
  CHECK(s.rows[10].name == "fc2");
  // Nothing was changed.
  CHECK(m.training());
  CHECK(m.random().generator().position() == position);
  CHECK(m.state().at("fc1.weight").version() == before.at("fc1.weight").version());
  CHECK_THAT(s.text(), Contains("conv1") && Contains("[1, 32, 28, 28]") && Contains("401,536") && Contains("421,642"));
}

TEST_CASE("a summary counts what runs between the layers, and keeps running statistics", "[nn]") {
  const nn::Sequential m = nn::resnet({.width = 4});
  const nn::Summary s = nn::summary(m, {2, 3, 8, 8});
  CHECK(row(s, "layer1.0").type == "BasicBlock");  // its ReLUs and additions
  CHECK(row(s, "layer1.0").ops == 3);
  CHECK(m.state().at("bn1.num_batches_tracked").item() == 0);
  const nn::GPT gpt({.vocab = 11, .context = 6, .layers = 1, .heads = 2, .width = 8});
  const nn::Summary g = nn::summary(gpt, {1, 5}, DType::i64);
  CHECK(row(g, "head").output == Shape{1, 5, 11});
  CHECK(row(g, "h.0.attn").ops > 0);
  // As a part of another model it has a name, which its rows leave out.
  const nn::Sequential part = nn::mlp({2, 3});
  const nn::Sequential whole(part, nn::ReLU());
  CHECK(nn::summary(part, {1, 2}).rows.size() == 1);
  CHECK(nn::summary(part, {1, 2}).rows[0].output == Shape{1, 3});
}
