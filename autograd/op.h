#pragma once
// The contract of a differentiable function: one class holds all there is to know about it.
#include <cstdint>
#include <span>
#include <string_view>

#include "reel/autograd/arena.h"
#include "reel/core/tensor.h"

namespace reel {

/// What autocast does to the inputs of an op.
enum class Cast : std::uint8_t {
  lower,      ///< cast to the region's type: bound by arithmetic, safe in half (matmul, convolution)
  fused_f32,  ///< reads half, computes in f32 inside the kernel (softmax, norms, sums, exponentials)
  f32,        ///< cast to f32: losses
  widest,     ///< cast to the widest input dtype (add, concat)
  keep,       ///< runs in the dtype it is given (relu, views, gather)
};
std::string_view name_of(Cast c);

struct OpInfo {
  std::string_view name;
  std::string_view formula;  ///< one line of maths, shown in the reference and by the profiler
  Cast cast = Cast::keep;
  bool differentiable = true;  ///< false: the result is a constant to every tape (argmax, comparisons)
  bool makes_output = false;   ///< forward sets the outputs itself, usually to views of its input
};

/// Work of one call.
struct Cost {
  double flops = 0;
  double bytes = 0;  ///< read and written, each operand once
};

/// Inputs of a call. An input that was left out is an empty Tensor.
class Inputs {
 public:
  Inputs(const Tensor* const* p, int n) : p_(p), n_(n) {}
  const Tensor& operator[](int i) const { return *p_[i]; }
  int size() const { return n_; }

 private:
  const Tensor* const* p_;
  int n_;
};

/// What is known of the inputs without their numbers. A null pointer stands for an input left out.
using Metas = std::span<const Meta* const>;

inline constexpr int kMaxOutputs = 4;

/// Filled by `infer`, one call of add for each output.
struct OutMetas {
  Meta m[kMaxOutputs];
  int n = 0;
  void add(const Shape& shape, DType dtype, Layout layout = Layout::row_major) {
    Meta& x = m[n++];
    x.shape = shape;
    x.numel = numel(shape);
    x.dtype = dtype;
    x.layout = layout;
  }
  void add(const Meta& like) { m[n++] = like; }
};

struct Outputs {
  Tensor t[kMaxOutputs];
  int n = 0;
  Tensor& operator[](int i) { return t[i]; }
  const Tensor& operator[](int i) const { return t[i]; }
};

/// Which tensors `backward` reads; the tape keeps only those alive. One bit each.
struct Saves {
  std::uint32_t in = ~0u, out = ~0u;
};

class Backward;  // backward.h

class Op {
 public:
  virtual ~Op() = default;
  virtual const OpInfo& info() const = 0;
  /// Shapes, dtypes and layouts of the outputs. The only place that checks the inputs.
  virtual void infer(Metas in, OutMetas& out) const = 0;
  /// Fills the outputs by calling kernels.
  virtual void forward(Inputs in, Outputs& out) const = 0;
  /// Sets the gradient of each input that needs one, by calling ops only, never kernels, so that the
  /// profiler, AMP and the NaN check see the way back like the way forward.
  virtual void backward(Backward& b) const;
  virtual Saves saves() const { return {}; }
  /// By default: reads each input once, writes each output once, one flop for an output element.
  virtual Cost cost(Metas in, std::span<const Meta> out) const;
  virtual Op* clone_to(Arena& arena) const = 0;

 protected:
  Op() = default;
  Op(const Op&) = default;
  Op& operator=(const Op&) = default;
};

/// Base of each op class `T`: gives it a copy on the tape.
template <class T>
class OpOf : public Op {
 public:
  const OpInfo& info() const override { return T::kInfo; }
  Op* clone_to(Arena& arena) const override { return arena.make<T>(static_cast<const T&>(*this)); }
};

/// Base of ops that live outside the library: they need no place in AllOps.
struct CustomOp {};

}  // namespace reel
