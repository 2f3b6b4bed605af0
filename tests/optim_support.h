#pragma once
// What the tests of the optimizers share.
#include <cstring>

#include "reel/autograd/ops.h"
#include "reel/autograd/tape.h"
#include "reel/optim/optimizer.h"
#include "reel/tests/support/catch.h"

namespace reel::test {

using Values = std::vector<double>;

inline Tensor tensor(const Values& v, DType dtype = DType::f32) {
  return Tensor::from({static_cast<std::int64_t>(v.size())}, v, dtype);
}
inline Parameter weight(const std::string& name, const Values& v, DType dtype = DType::f32) {
  return {name, tensor(v, dtype).set_requires_grad()};
}
inline Values values_of(const Tensor& t) {
  return t.to_vector<double>();
}

/// One micro-batch whose gradient of `p` is `g`, as the sum over `count` terms.
inline void micro_step(optim::Optimizer& o, const Tensor& p, const Values& g, double count = 1) {
  const optim::MicroBatch micro = o.next();
  Tape tape;
  tape.backward(micro.add(sum(p * Tensor::from(p.shape(), g, p.dtype())), count));
}

/// A deep copy of a state.
inline State copy_of(const State& s) {
  State c;
  for (const auto& [name, t] : s) c[name] = clone(t);
  return c;
}
/// Same names, shapes, dtypes and bits.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = contiguous(a), y = contiguous(b);
  return x.shape() == y.shape() && x.dtype() == y.dtype() &&
         (x.numel() == 0 || std::memcmp(x.raw(), y.raw(), static_cast<std::size_t>(x.meta().bytes())) == 0);
}
inline bool same_bits(const State& a, const State& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, t] : a)
    if (!b.contains(name) || !same_bits(t, b.at(name))) return false;
  return true;
}

/// |got - want| within `k` roundings of dtype at the size of the largest number.
inline void check_close(const Values& got, const Values& want, DType dtype, double k) {
  REQUIRE(got.size() == want.size());
  const double unit = dtype == DType::f64   ? 0x1p-53
                      : dtype == DType::f32 ? 0x1p-24
                      : dtype == DType::f16 ? 0x1p-11
                                            : 0x1p-8;
  double size = 1;
  for (const double v : want) size = std::max(size, std::abs(v));
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i << ", got " << got[i] << ", expected " << want[i] << ", bound " << k * unit * size);
    CHECK(std::abs(got[i] - want[i]) <= k * unit * size);
  }
}

}  // namespace reel::test
