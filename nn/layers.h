#pragma once
// Linear, embedding, dropout, flatten and the activations.
#include "reel/autograd/ops.h"
#include "reel/nn/module.h"

namespace reel::nn {

struct LinearOptions {
  std::int64_t in = 0, out = 0;
  bool bias = true;
};
/// y = x weight^T + bias: x [..., in] -> [..., out]. weight [out, in] and bias [out] start as U(-b,
/// b), b = 1 / sqrt(in). Constructors of all layers throw ValueError that names the option and its
/// value.
class Linear final : public Module {
 public:
  Linear(const LinearOptions& options, const Random& random);
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  ///< empty without

 protected:
  Tensor forward(const Tensor& x) const override { return linear(x, weight_, bias_); }

 private:
  Tensor weight_, bias_;
};

struct EmbeddingOptions {
  std::int64_t num = 0, dim = 0;
};
/// Row i of weight [num, dim] for each index i: [...] -> [..., dim]. The weight starts as N(0, 1).
class Embedding final : public Module {
 public:
  Embedding(const EmbeddingOptions& options, const Random& random);
  const Tensor& weight() const { return weight_; }

 protected:
  Tensor forward(const Tensor& indices) const override { return embedding(weight_, indices); }

 private:
  Tensor weight_;
};

/// In training, each element is 0 with probability p, else x / (1 - p); the masks are the next
/// numbers of `random`. In evaluation x itself.
class Dropout final : public Module {
 public:
  Dropout(double p, const Random& random);

 protected:
  Tensor forward(const Tensor& x) const override;

 private:
  double p_;
  Random random_;
};

/// Dimensions first ... last become one.
class Flatten final : public Module {
 public:
  explicit Flatten(int first = 1, int last = -1) : Module("Flatten"), first_(first), last_(last) {}

 protected:
  Tensor forward(const Tensor& x) const override { return flatten(x, first_, last_); }

 private:
  int first_, last_;
};

class ReLU final : public Module {
 public:
  ReLU() : Module("ReLU") {}

 protected:
  Tensor forward(const Tensor& x) const override { return relu(x); }
};

enum class Approximate { none, tanh };
/// By the error function, as PyTorch's default; `tanh` is the older approximation.
class GELU final : public Module {
 public:
  explicit GELU(Approximate approximate = Approximate::none) : Module("GELU"), approximate_(approximate) {}

 protected:
  Tensor forward(const Tensor& x) const override { return approximate_ == Approximate::tanh ? gelu_tanh(x) : gelu(x); }

 private:
  Approximate approximate_;
};

class SiLU final : public Module {
 public:
  SiLU() : Module("SiLU") {}

 protected:
  Tensor forward(const Tensor& x) const override { return silu(x); }
};

class Tanh final : public Module {
 public:
  Tanh() : Module("Tanh") {}

 protected:
  Tensor forward(const Tensor& x) const override { return tanh(x); }
};

class Sigmoid final : public Module {
 public:
  Sigmoid() : Module("Sigmoid") {}

 protected:
  Tensor forward(const Tensor& x) const override { return sigmoid(x); }
};

}  // namespace reel::nn
