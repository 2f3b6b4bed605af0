#pragma once
// Multi-head attention.
#include "reel/nn/layers.h"

namespace reel::nn {

struct AttentionOptions {
  std::int64_t embed = 0, heads = 1;
  bool bias = true;
  bool causal = false;  ///< a place sees itself and earlier ones only
};
/// Attention of several heads over x [..., t, embed] (Vaswani et al. 2017), batch first, with
/// PyTorch's names: in_proj_weight [3 embed, embed] (query, key, value; Xavier-uniform),
/// in_proj_bias [3 embed] (zeros), out_proj (its bias is zeros).
class MultiHeadAttention final : public Module {
 public:
  MultiHeadAttention(const AttentionOptions& options, const Random& random);
  const Tensor& in_proj_weight() const { return in_proj_weight_; }
  const Tensor& in_proj_bias() const { return in_proj_bias_; }  ///< empty without
  const Linear& out_proj() const { return out_proj_; }

  using Module::operator();
  /// query [..., tq, embed], key and value [..., tk, embed] -> [..., tq, embed]. `mask` as in
  /// attention() of autograd/ops.h, over [..., heads, tq, tk].
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask = {}) const;

 protected:
  Tensor forward(const Tensor& x) const override;

 private:
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) const;

  AttentionOptions options_;
  Tensor in_proj_weight_, in_proj_bias_;
  Linear out_proj_;
};

}  // namespace reel::nn
