#include "reel/nn/gpt.h"

#include <cmath>

#include "reel/nn/init.h"
#include "reel/nn/options_impl.h"

namespace reel::nn {
namespace {

const GPTOptions& checked(const GPTOptions& o) {
  require_at_least("GPT", "vocab", o.vocab, std::int64_t{1});
  require_at_least("GPT", "context", o.context, std::int64_t{1});
  require_at_least("GPT", "layers", o.layers, std::int64_t{1});
  require_at_least("GPT", "heads", o.heads, std::int64_t{1});
  require_at_least("GPT", "width", o.width, std::int64_t{1});
  return o;
}

/// Two linear layers, four times as wide in between.
Sequential block_mlp(const GPTOptions& o, const Random& random) {
  Sequential m;
  m.add("c_fc", Linear({.in = o.width, .out = 4 * o.width}, random));
  m.add("gelu", GELU());
  m.add("c_proj", Linear({.in = 4 * o.width, .out = o.width}, random));
  return m;
}

class Block final : public Module {
 public:
  Block(const GPTOptions& o, const Random& random)
      : Module("Block"),
        ln_1_(child("ln_1", LayerNorm({o.width}))),
        attn_(child("attn", MultiHeadAttention({.embed = o.width, .heads = o.heads, .causal = true}, random))),
        ln_2_(child("ln_2", LayerNorm({o.width}))),
        mlp_(child("mlp", block_mlp(o, random))),
        drop_(child("drop", Dropout(o.dropout, random))) {}

 protected:
  Tensor forward(const Tensor& x) const override {
    const Tensor y = x + drop_(attn_(ln_1_(x)));
    return y + drop_(mlp_(ln_2_(y)));
  }

 private:
  LayerNorm ln_1_;
  MultiHeadAttention attn_;
  LayerNorm ln_2_;
  Sequential mlp_;
  Dropout drop_;
};

Sequential blocks(const GPTOptions& o, const Random& random) {
  Sequential h;
  for (std::int64_t i = 0; i < o.layers; ++i) h.add(Block(o, random));
  return h;
}

}  // namespace

GPT::GPT(const GPTOptions& o, const Random& random)
    : Module("GPT", random),
      options_(checked(o)),
      wte_(child("wte", Embedding({.num = o.vocab, .dim = o.width}, random))),
      wpe_(child("wpe", Embedding({.num = o.context, .dim = o.width}, random))),
      drop_(child("drop", Dropout(o.dropout, random))),
      h_(child("h", blocks(o, random))),
      ln_f_(child("ln_f", LayerNorm({o.width}))) {
  for (const auto& [name, t] : named_parameters()) {
    if (name.ends_with("bias"))
      init::zeros(t);
    else if (name.ends_with("_proj.weight"))
      init::normal(t, random, 0, 0.02 / std::sqrt(2 * static_cast<double>(o.layers)));
    else if (t.rank() == 2)
      init::normal(t, random, 0, 0.02);
  }
}

Tensor GPT::forward(const Tensor& tokens) const {
  check<ShapeError>(tokens.rank() >= 1, "GPT: needs tokens [..., t], but the shape is ", tokens.shape());
  const std::int64_t t = tokens.shape().back();
  check<ShapeError>(t <= options_.context, "GPT: the sequence has ", t, " tokens, but the context is ",
                    options_.context, ". Cut it, or make a model with a longer context");
  const Tensor places = Tensor::arange(t, DType::i64);
  const Tensor x = ln_f_(h_(drop_(wte_(tokens) + wpe_(places))));
  const Scope scope("head");
  return linear(x, wte_.weight());
}

}  // namespace reel::nn
