#include "reel/nn/attention.h"

#include "reel/nn/init.h"
#include "reel/nn/options_impl.h"

namespace reel::nn {
namespace {

const AttentionOptions& checked(const AttentionOptions& o) {
  require_at_least("MultiHeadAttention", "embed", o.embed, std::int64_t{1});
  require_at_least("MultiHeadAttention", "heads", o.heads, std::int64_t{1});
  check<ValueError>(o.embed % o.heads == 0, "MultiHeadAttention: heads ", o.heads, " must divide embed ", o.embed);
  return o;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const AttentionOptions& o, const Random& random)
    : Module("MultiHeadAttention", random),
      options_(checked(o)),
      in_proj_weight_(parameter("in_proj_weight", Tensor::empty({3 * o.embed, o.embed}))),
      in_proj_bias_(o.bias ? parameter("in_proj_bias", Tensor::zeros({3 * o.embed})) : Tensor{}),
      out_proj_(child("out_proj", Linear({.in = o.embed, .out = o.embed, .bias = o.bias}, random))) {
  init::xavier_uniform(in_proj_weight_, random);
  if (o.bias) init::zeros(out_proj_.bias());
}

/// q [..., tq, embed], k and v [..., tk, embed], projected.
Tensor MultiHeadAttention::attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) const {
  const auto heads = [this](const Tensor& x) {  // [..., t, embed] -> [..., heads, t, embed / heads]
    Shape shape = x.shape();
    shape[x.rank() - 1] = options_.heads;
    shape.push_back(options_.embed / options_.heads);
    return transpose(reshape(x, shape), -3, -2);
  };
  const Tensor y = attention(heads(q), heads(k), heads(v), mask, options_.causal);
  return out_proj_(reshape(transpose(y, -3, -2), q.shape()));
}

Tensor MultiHeadAttention::forward(const Tensor& x) const {
  check<ShapeError>(x.rank() >= 2 && x.shape().back() == options_.embed, "MultiHeadAttention: needs x [..., t, ",
                    options_.embed, "], but its shape is ", x.shape());
  const Tensor qkv = linear(x, in_proj_weight_, in_proj_bias_);
  const std::int64_t e = options_.embed;
  return attend(slice(qkv, -1, 0, e), slice(qkv, -1, e, 2 * e), slice(qkv, -1, 2 * e, 3 * e), {});
}

Tensor MultiHeadAttention::operator()(const Tensor& query,
                                      const Tensor& key,
                                      const Tensor& value,
                                      const Tensor& mask) const {
  const Scope scope(name().empty() ? type() : name());
  const std::int64_t e = options_.embed;
  const auto project = [&](const char* what, const Tensor& x, std::int64_t i) {
    check<ShapeError>(x.rank() >= 2 && x.shape().back() == e, "MultiHeadAttention: needs ", what, " [..., t, ", e,
                      "], but its shape is ", x.shape());
    return linear(x, slice(in_proj_weight_, 0, i * e, (i + 1) * e),
                  in_proj_bias_ ? slice(in_proj_bias_, 0, i * e, (i + 1) * e) : Tensor{});
  };
  return attend(project("query", query, 0), project("key", key, 1), project("value", value, 2), mask);
}

}  // namespace reel::nn
