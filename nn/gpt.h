#pragma once
// A decoder-only transformer.
#include "reel/nn/attention.h"
#include "reel/nn/norm.h"
#include "reel/nn/sequential.h"

namespace reel::nn {

struct GPTOptions {
  std::int64_t vocab = 256, context = 128;
  std::int64_t layers = 4, heads = 4, width = 128;
  double dropout = 0;
};

/// Tokens [..., t] (i64, t up to `context`) -> logits [..., t, vocab] of the next token at each
/// place. Pre-norm blocks x + attention(norm(x)), x + mlp(norm(x)) with a causal mask and GELU
/// (Radford et al. 2019). The output layer is the transposed token embedding, wte.weight, so that
/// weight is listed and stored once. Weights start as N(0, 0.02^2), those of the last layer on each
/// residual branch as N(0, 0.02^2 / (2 layers)), biases as 0.
class GPT final : public Module {
 public:
  explicit GPT(const GPTOptions& options = {}, const Random& random = Random());
  const Embedding& wte() const { return wte_; }

 protected:
  /// Throws ShapeError for a sequence longer than the context.
  Tensor forward(const Tensor& tokens) const override;

 private:
  GPTOptions options_;
  Embedding wte_, wpe_;
  Dropout drop_;
  Sequential h_;
  LayerNorm ln_f_;
};

}  // namespace reel::nn
