#pragma once
// What an op's backward sees: what the tape saved, the gradients of the outputs, and which inputs want one.
#include "reel/autograd/op.h"

namespace reel {

/// One tensor of a recorded call. Numbers are kept only where the op asked for them.
struct Recorded {
  static constexpr std::uint32_t kNoSlot = ~0u;
  Tensor tensor;                 ///< empty unless saved
  const Meta* meta = nullptr;    ///< null for an input that was left out
  std::uint32_t slot = kNoSlot;  ///< the tape's number for it, when it takes part in differentiation
  std::uint32_t version = 0;     ///< of the storage, when it was saved
};

class Backward {
 public:
  Backward(const Op& op,
           std::span<const Recorded> in,
           std::span<const Recorded> out,
           std::span<const Tensor> dout,
           std::span<Tensor> din)
      : op_(op), in_(in), out_(out), dout_(dout), din_(din) {}

  int inputs() const { return static_cast<int>(in_.size()); }
  bool has(int i) const { return i < inputs() && at(in_, i).meta != nullptr; }
  bool needs(int i) const { return i < inputs() && at(in_, i).slot != Recorded::kNoSlot; }
  /// Numbers of input or output i. Throws GradError when it was changed in place since, or not saved.
  const Tensor& in(int i) const { return saved(at(in_, i), "input", i); }
  const Tensor& out(int i = 0) const { return saved(at(out_, i), "output", i); }
  const Meta& in_meta(int i) const { return *at(in_, i).meta; }
  const Meta& out_meta(int i = 0) const { return *at(out_, i).meta; }
  /// Gradient of output i; empty when nothing depends on that output.
  const Tensor& dout(int i = 0) const { return dout_[static_cast<std::size_t>(i)]; }
  void set(int i, Tensor gradient) { din_[static_cast<std::size_t>(i)] = std::move(gradient); }

 private:
  static const Recorded& at(std::span<const Recorded> s, int i) { return s[static_cast<std::size_t>(i)]; }
  const Tensor& saved(const Recorded& r, const char* what, int i) const {
    if (!r.tensor || r.tensor.version() != r.version) [[unlikely]]
      refuse(r, what, i);
    return r.tensor;
  }
  [[noreturn]] void refuse(const Recorded& r, const char* what, int i) const;

  const Op& op_;
  std::span<const Recorded> in_, out_;
  std::span<const Tensor> dout_;
  std::span<Tensor> din_;
};

}  // namespace reel
