#include "reel/nn/layers.h"

#include <cmath>

#include "reel/nn/init.h"
#include "reel/nn/options_impl.h"

namespace reel::nn {

Linear::Linear(const LinearOptions& o, const Random& random) : Module("Linear", random) {
  require_at_least("Linear", "in", o.in, std::int64_t{1});
  require_at_least("Linear", "out", o.out, std::int64_t{1});
  weight_ = parameter("weight", Tensor::empty({o.out, o.in}));
  init::kaiming_uniform(weight_, random);
  if (!o.bias) return;
  bias_ = parameter("bias", Tensor::empty({o.out}));
  const double b = 1 / std::sqrt(static_cast<double>(o.in));
  init::uniform(bias_, random, -b, b);
}

Embedding::Embedding(const EmbeddingOptions& o, const Random& random) : Module("Embedding", random) {
  require_at_least("Embedding", "num", o.num, std::int64_t{1});
  require_at_least("Embedding", "dim", o.dim, std::int64_t{1});
  weight_ = parameter("weight", Tensor::empty({o.num, o.dim}));
  init::normal(weight_, random);
}

Dropout::Dropout(double p, const Random& random) : Module("Dropout", random), p_(p), random_(random) {
  check<ValueError>(p >= 0 && p < 1, "Dropout: p must be from 0 to below 1, but is ", p);
}
Tensor Dropout::forward(const Tensor& x) const {
  return training() && p_ > 0 ? dropout(x, p_, random_.generator()) : x;
}

}  // namespace reel::nn
