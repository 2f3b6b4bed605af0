// What all modules share: names, states, modes, handles.
#include "reel/nn/module.h"

#include <cstring>
#include <type_traits>

#include "reel/autograd/ops.h"
#include "reel/autograd/tape.h"
#include "reel/nn/layers.h"
#include "reel/nn/models.h"
#include "reel/nn/norm.h"
#include "reel/nn/sequential.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using Catch::Matchers::Equals;
using Doubles = std::vector<double>;

namespace {

struct Net : nn::Module {
  explicit Net(const nn::Random& r)
      : Module("Net"),
        fc1(child("fc1", nn::Linear({.in = 3, .out = 4}, r))),
        norm(child("norm", nn::BatchNorm2d({.channels = 4}))),
        scale(parameter("scale", Tensor::full({1}, 2))) {}
  Tensor forward(const Tensor& x) const override { return fc1(x) * scale; }
  nn::Linear fc1;
  nn::BatchNorm2d norm;
  Tensor scale;
};

std::string names_of(const std::vector<Parameter>& list) {
  std::string s;
  for (const auto& [name, t] : list) s += name + " ";
  return s;
}

/// A module whose registration is public.
struct Bare : nn::Module {
  Bare() : Module("Bare") {}
  using Module::buffer;
  using Module::child;
  using Module::parameter;
  Tensor forward(const Tensor& x) const override { return x; }
};

}  // namespace

TEST_CASE("parameters and buffers are listed in order, with dotted names", "[nn]") {
  const Net net{nn::Random(1)};
  CHECK(names_of(net.named_parameters()) == "scale fc1.weight fc1.bias norm.weight norm.bias ");
  CHECK(names_of(net.parameters()) == names_of(net.named_parameters()));
  CHECK(names_of(net.named_buffers()) == "norm.running_mean norm.running_var norm.num_batches_tracked ");
  CHECK(net.state().size() == 8);
  for (const Parameter& p : net.parameters()) CHECK(p.tensor.requires_grad());
  for (const Parameter& p : net.named_buffers()) CHECK_FALSE(p.tensor.requires_grad());
}

TEST_CASE("a copy is the same module", "[nn]") {
  const Net net{nn::Random(1)};
  const Net copy = net;
  CHECK(copy.fc1.weight().id() == net.fc1.weight().id());
  copy.eval();
  CHECK_FALSE(net.training());
  CHECK_FALSE(net.fc1.training());
  const auto call = [net](const Tensor& x) { return net(x); };
  CHECK(call(Tensor::zeros({2, 3})).shape() == Shape{2, 4});
}

TEST_CASE("a weight or a layer cannot be replaced by assignment", "[nn]") {
  STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<nn::Linear>);
  STATIC_REQUIRE_FALSE(std::is_move_assignable_v<nn::Linear>);
  STATIC_REQUIRE_FALSE(std::is_assignable_v<decltype(std::declval<nn::Linear&>().weight()), Tensor>);
  STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<nn::Sequential>);
  STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<Net>);
  STATIC_REQUIRE(std::is_copy_constructible_v<nn::Sequential>);
}

TEST_CASE("a weight that is used twice is listed once", "[nn]") {
  Bare a;
  const Tensor shared = Tensor::zeros({2});
  a.parameter("first", shared);
  a.parameter("second", shared);
  const nn::Tanh t;
  a.child("x", t);
  CHECK(names_of(a.parameters()) == "first ");
}

TEST_CASE("registration refuses what could not be told apart", "[nn]") {
  Bare a;
  a.parameter("w", Tensor::zeros({1}));
  a.child("c", nn::ReLU());
  CHECK_THROWS_WITH(a.parameter("w", Tensor::zeros({1})),
                    Equals("Bare: parameter: the name w is taken. Give another one"));
  CHECK_THROWS_WITH(a.buffer("c", Tensor::zeros({1})), Equals("Bare: buffer: the name c is taken. Give another one"));
  CHECK_THROWS_WITH(a.child("", nn::ReLU()), Equals("Bare: child: the name \"\" must not be empty or hold a dot"));
  CHECK_THROWS_WITH(a.buffer("a.b", Tensor::zeros({1})),
                    Equals("Bare: buffer: the name \"a.b\" must not be empty or hold a dot"));
  CHECK_THROWS_WITH(a.parameter("e", Tensor{}), Equals("Bare: parameter: e is an empty tensor"));
  CHECK_THROWS_AS(a.parameter("i", Tensor::zeros({1}, DType::i64)), DTypeError);
  Bare outer;
  outer.child("inner", a);
  CHECK_THROWS_WITH(a.child("outer", outer),
                    Equals("Bare: child: outer contains this module already. A module cannot be inside itself"));
  CHECK_THROWS_AS(a.child("self", a), ValueError);
  CHECK(names_of(outer.parameters()) == "inner.w ");
}

TEST_CASE("a state goes into another model and is the same", "[nn]") {
  const Net a{nn::Random(1)}, b{nn::Random(2)};
  const Tensor w = b.fc1.weight();
  const std::uint32_t version = w.version();
  const nn::LoadReport report = b.load_state(a.state());
  CHECK(report.missing.empty());
  CHECK(report.unexpected.empty());
  CHECK(b.fc1.weight().id() == w.id());  // in place: optimizers keep their parameters
  CHECK(w.version() > version);
  for (const auto& [name, t] : b.state()) {
    CHECK(t.to_vector<double>() == a.state().at(name).to_vector<double>());
    CHECK(t.raw() != a.state().at(name).raw());
  }
  // Another dtype is converted.
  b.load_state({{"scale", Tensor::full({1}, 0.5, DType::f64)}}, false);
  CHECK(b.scale.item() == 0.5);
  CHECK(b.scale.dtype() == DType::f32);
}

TEST_CASE("a state of another model is refused as a whole, with every name", "[nn]") {
  const Net net{nn::Random(1)};
  State s = net.state();
  s.erase("fc1.bias");
  s.erase("norm.running_var");
  s["module.scale"] = Tensor::zeros({1});
  s["fc1.weight"] = Tensor::zeros({3, 4});
  s["scale"] = Tensor::full({1}, 9);
  CHECK_THROWS_AS(net.load_state(s), ValueError);
  CHECK_THROWS_WITH(net.load_state(s),
                    Equals("Net: load_state: the state does not fit. missing: fc1.bias, norm.running_var; "
                           "unexpected: "
                           "module.scale; mis-shaped: fc1.weight is [3, 4], not [4, 3]. Nothing was loaded"));
  CHECK_THROWS_WITH(net.load_state(s, false),
                    Equals("Net: load_state: the state does not fit. mis-shaped: fc1.weight is [3, "
                           "4], not [4, 3]. Nothing was "
                           "loaded"));
  CHECK(net.scale.item() == 2);
  s.erase("fc1.weight");
  const nn::LoadReport report = net.load_state(s, false);
  CHECK(report.missing == std::vector<std::string>{"fc1.bias", "fc1.weight", "norm.running_var"});
  CHECK(report.unexpected == std::vector<std::string>{"module.scale"});
  CHECK(net.scale.item() == 9);
}

TEST_CASE("modes reach every module and come back", "[nn]") {
  const Net net{nn::Random(1)};
  CHECK(net.norm.training());
  net.norm.eval();
  {
    const nn::Module::EvalMode mode(net);
    CHECK_FALSE(net.training());
    CHECK_FALSE(net.fc1.training());
  }
  CHECK(net.training());
  CHECK(net.fc1.training());
  CHECK_FALSE(net.norm.training());
  net.train();
  CHECK(net.norm.training());
}

TEST_CASE("gradients are switched and cleared for all", "[nn]") {
  const Net net{nn::Random(1)};
  net.requires_grad(false);
  for (const Parameter& p : net.parameters()) CHECK_FALSE(p.tensor.requires_grad());
  net.requires_grad(true);
  {
    Tape tape;
    tape.backward(sum(net(Tensor::full({2, 3}, 1))));
  }
  CHECK(net.fc1.weight().grad());
  net.zero_grad();
  CHECK_FALSE(net.fc1.weight().grad());
}

TEST_CASE("conversion changes the tensors that everybody holds", "[nn]") {
  const Net net{nn::Random(1)};
  const Tensor w = net.fc1.weight();
  const Doubles before = w.to_vector<double>();
  w.set_grad(Tensor::zeros({4, 3}));
  net.to(DType::f64);
  CHECK(w.dtype() == DType::f64);
  CHECK(w.requires_grad());
  CHECK_FALSE(w.grad());
  CHECK(w.to_vector<double>() == before);
  CHECK(net.norm.num_batches_tracked().dtype() == DType::i64);
  CHECK(net.norm.running_mean().dtype() == DType::f64);
  net.to(Device::cpu());
  CHECK(w.to_vector<double>() == before);
  CHECK_THROWS_WITH(net.to(DType::i64), Equals("Net: to: parameters need a floating dtype, but i64 was asked for"));
  CHECK_THROWS_AS(net.to(Device::cuda(7)), DeviceError);
  Tape tape;
  CHECK_THROWS_WITH(net.to(DType::f32),
                    Equals("Net: to: a tape is live and may have saved the old numbers. Convert before "
                           "the tape begins"));
}

TEST_CASE("the random stream of a model is found, saved and restored", "[nn]") {
  const nn::Random random(7);
  nn::Sequential model(nn::Linear({.in = 4, .out = 4}, random), nn::Dropout(0.5, random));
  CHECK(model.random() == random);
  const Generator saved = model.random().generator();
  const Tensor x = Tensor::full({8, 4}, 1);
  const Doubles first = model(x).to_vector<double>();
  CHECK(model(x).to_vector<double>() != first);
  model.random().generator() = saved;
  CHECK(model(x).to_vector<double>() == first);
  CHECK_THROWS_WITH(nn::ReLU().random(),
                    Equals("ReLU: random: the module has 0 streams of random numbers, not 1. No layer "
                           "draws any"));
  model.add(nn::Dropout(0.1, nn::Random(8)));
  CHECK(model.randoms().size() == 2);
  CHECK_THROWS_AS(model.random(), StateError);
}

TEST_CASE("the same seed makes the same model", "[nn]") {
  const nn::Sequential a = nn::mlp({5, 7, 3}, nn::Random(3)), b = nn::mlp({5, 7, 3}, nn::Random(3)),
                       c = nn::mlp({5, 7, 3}, nn::Random(4));
  CHECK(a.state().at("0.weight").to_vector() == b.state().at("0.weight").to_vector());
  CHECK(a.state().at("2.bias").to_vector() == b.state().at("2.bias").to_vector());
  CHECK(a.state().at("0.weight").to_vector() != c.state().at("0.weight").to_vector());
}

TEST_CASE("sequential calls its layers in order, in scopes of their names", "[nn]") {
  nn::Sequential inner;
  std::vector<std::string> paths;
  inner.add("double", [&paths](const Tensor& x) {
    paths.push_back(Scope::path());
    return x * 2;
  });
  nn::Sequential model(nn::ReLU(), inner);
  model.add("last", [&paths](const Tensor& x) {
    paths.push_back(Scope::path());
    return x + 1;
  });
  CHECK(model(Tensor::from({2}, {-1, 3})).to_vector<double>() == Doubles{1, 7});
  CHECK(paths == std::vector<std::string>{"1/double", "last"});
  CHECK(model.size() == 3);
  const nn::Sequential copy = model;
  model.add("more", [](const Tensor& x) { return x * 10; });
  CHECK(copy(Tensor::from({1}, {3})).item() == 70);  // the same module
  CHECK_THROWS_AS(model.add("0", nn::ReLU()), ValueError);
  CHECK(model.size() == 4);
  CHECK(nn::Sequential()(Tensor::scalar(4)).item() == 4);
}
