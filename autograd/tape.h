#pragma once
// Records ops while it lives, and plays them backwards.
#include <functional>
#include <string>
#include <vector>

#include "reel/autograd/apply.h"
#include "reel/autograd/backward.h"

namespace reel {

/// Called for a leaf when its gradient is complete, in the order of the backward pass.
using OnGrad = std::function<void(const Tensor& leaf)>;

/// From its construction to its end, the ops of this thread whose inputs depend on a leaf (a tensor
/// with `requires_grad`, or one given to `watch`) are recorded. The record order is a topological
/// order, so there is no graph search. Tensors of a tape that has ended count as constants.
class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  static Tape* current() { return Hooks::current().tape; }  ///< innermost live tape of this thread, or null

  /// Adds d(loss)/d(leaf) to `leaf.grad()` of every leaf with requires_grad, and frees what was saved
  /// as it is used. Gradients of half leaves are kept in f32. Throws GradError when the loss is no
  /// single number, does not depend on a leaf, or the tape was played before.
  void backward(const Tensor& loss, const OnGrad& on_grad = {});

  /// d(sum of y)/d(input) for each input; empty where y does not depend on it. Touches no `grad()`.
  /// With `create_graph` the gradients are recorded too and can be differentiated again.
  std::vector<Tensor> gradients(const Tensor& y, std::span<const Tensor> inputs, bool create_graph = false);

  /// Makes `t` a leaf of this tape alone.
  void watch(const Tensor& t);

  struct Row {
    std::string op;
    std::vector<Meta> in, out;
    std::vector<int> sources;  ///< for each input: the row that made it, or -1
    std::size_t bytes_saved = 0;
  };
  std::vector<Row> rows() const;  ///< what is recorded now, in order
  std::string table() const;      ///< op, shapes, dtypes and bytes saved, a line each, with totals
  std::string dot() const;        ///< the same as a graph for Graphviz

  // Used by apply.
  void record(const Op& op, Inputs in, const Outputs& out);

 private:
  struct Entry {
    Entry* previous;
    const Op* op;
    std::span<Recorded> in, out;
  };
  struct Leaf {
    std::uint64_t id;  // 0: free
    std::uint32_t slot;
  };
  struct Scratch;  // vectors that are reused from tape to tape

  std::uint32_t slot_of(const Op& op, int i, const Tensor& t);
  std::uint32_t find_leaf(std::uint64_t id) const;
  std::uint32_t add_leaf(const Tensor& t);
  static void drop(Entry& e) noexcept;
  std::uint32_t require_slot(const Tensor& y) const;
  void add_gradient(const Op& op, int i, const Recorded& r, Tensor g, bool create_graph);
  template <class OnDone>
  void walk(const Tensor& y, bool keep_entries, bool create_graph, const OnDone& done);

  std::uint64_t serial_;
  Tape* outer_;
  Entry* last_ = nullptr;
  Arena arena_;
  Scratch* scratch_;
  bool played_ = false;
};

/// Runs fn on `inputs` and returns d(sum of the result)/d(input) for each. Under a live tape the
/// gradients can be differentiated again: grad of grad works by nesting.
std::vector<Tensor> grad(const std::function<Tensor(std::span<const Tensor>)>& fn, std::span<const Tensor> inputs);

}  // namespace reel
