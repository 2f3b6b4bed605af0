#include "reel/autograd/tape.h"

#include <algorithm>
#include <bit>

#include "reel/autograd/ops/common.h"
#include "reel/kernels/math/functions.h"
#include "reel/kernels/pointwise.h"

namespace reel {
namespace {

/// Slots of leaves have this bit; the others count the tensors that ops have made.
constexpr std::uint32_t kLeafBit = 1u << 31;

}  // namespace

/// Grown once and handed from tape to tape of a thread.
struct Tape::Scratch {
  struct LeafInfo {
    Tensor tensor;
    std::uint32_t readers = 0;  // recorded entries that still have to be played back
  };
  std::vector<Leaf> table = std::vector<Leaf>(64);  // open addressing, a power of two
  std::vector<LeafInfo> leaves;
  std::vector<Tensor> grads, leaf_grads, din;
  std::vector<const Meta*> metas;  // of the tensors that ops have made, by slot
  bool watching = false;

  void reset() {
    if (!leaves.empty()) std::ranges::fill(table, Leaf{0, 0});
    leaves.clear();
    grads.clear();
    leaf_grads.clear();
    din.clear();
    metas.clear();
    watching = false;
  }
  static std::vector<Scratch*>& cache() {
    struct Owner {
      std::vector<Scratch*> free;
      ~Owner() {
        for (const Scratch* s : free) delete s;
      }
    };
    thread_local Owner owner;
    return owner.free;
  }
};

Tape::Tape() : outer_(Hooks::current().tape) {
  static std::atomic<std::uint64_t> serials{0};
  auto& cache = Scratch::cache();
  if (cache.empty()) {
    cache.reserve(8);  // so that giving back never allocates
    scratch_ = new Scratch;
  } else {
    scratch_ = cache.back();
    cache.pop_back();
  }
  serial_ = serials.fetch_add(1, std::memory_order_relaxed) + 1;
  Hooks::current().tape = this;
}

Tape::~Tape() {
  while (last_) {
    Entry* e = std::exchange(last_, last_->previous);
    drop(*e);
  }
  scratch_->reset();
  auto& cache = Scratch::cache();
  if (cache.size() < cache.capacity())
    cache.push_back(scratch_);
  else
    delete scratch_;
  Hooks::current().tape = outer_;
}

std::uint32_t Tape::find_leaf(std::uint64_t id) const {
  const auto& t = scratch_->table;
  for (std::size_t h = id * 0x9E3779B97F4A7C15u >> 32;; ++h) {
    const Leaf& l = t[h & (t.size() - 1)];
    if (l.id == id) return l.slot;
    if (l.id == 0) return Recorded::kNoSlot;
  }
}

std::uint32_t Tape::add_leaf(const Tensor& t) {
  auto& s = *scratch_;
  const auto place = [&](const Leaf& l) {
    std::size_t h = l.id * 0x9E3779B97F4A7C15u >> 32;
    while (s.table[h & (s.table.size() - 1)].id) ++h;
    s.table[h & (s.table.size() - 1)] = l;
  };
  if (2 * (s.leaves.size() + 1) > s.table.size()) {
    std::vector<Leaf> bigger(2 * s.table.size());
    s.table.swap(bigger);
    for (const Leaf& l : bigger)
      if (l.id) place(l);
  }
  const auto slot = kLeafBit | static_cast<std::uint32_t>(s.leaves.size());
  s.leaves.push_back({t, 0});
  place({t.id(), slot});
  return slot;
}

std::uint32_t Tape::slot_of(const Op& op, int i, const Tensor& t) {
  if (!t) return Recorded::kNoSlot;
  const TapeMark& mark = t.impl()->mark;
  if (mark.tape == serial_) return mark.slot;
  if (t.requires_grad() || scratch_->watching) {
    const std::uint32_t slot = find_leaf(t.id());
    if (slot != Recorded::kNoSlot) return slot;
    if (t.requires_grad()) return add_leaf(t);
  }
  if (mark.tape != 0) {
    for (const Tape* o = outer_; o; o = o->outer_)
      check<GradError>(o->serial_ != mark.tape, op.info().name, ": input ", i, " ", t.shape(),
                       " was made under an enclosing tape, so its gradient would be lost here. End the inner tape "
                       "first, or pass input.detach() to treat it as a constant");
  }
  return Recorded::kNoSlot;
}

void Tape::watch(const Tensor& t) {
  check<DTypeError>(is_floating(t.dtype()), "watch: needs a floating dtype, but the tensor is ", name_of(t.dtype()));
  scratch_->watching = true;
  if (t.impl()->mark.tape != serial_ && find_leaf(t.id()) == Recorded::kNoSlot) add_leaf(t);
}

void Tape::record(const Op& op, Inputs in, const Outputs& out) {
  if (played_ || !op.info().differentiable) return;
  constexpr int kFew = 8;
  std::uint32_t few[kFew];
  std::vector<std::uint32_t> many;
  if (in.size() > kFew) many.resize(static_cast<std::size_t>(in.size()));
  std::uint32_t* slot = in.size() > kFew ? many.data() : few;
  bool any = false;
  for (int i = 0; i < in.size(); ++i) any |= (slot[i] = slot_of(op, i, in[i])) != Recorded::kNoSlot;
  if (!any) return;

  const Saves saves = op.saves();
  auto* e = arena_.make<Entry>();
  const auto n_in = static_cast<std::size_t>(in.size()), n_out = static_cast<std::size_t>(out.n);
  auto* r = static_cast<Recorded*>(arena_.allocate((n_in + n_out) * sizeof(Recorded)));
  for (std::size_t i = 0; i < n_in + n_out; ++i) ::new (r + i) Recorded;
  e->in = {r, n_in};
  e->out = {r + n_in, n_out};
  for (int i = 0; i < in.size(); ++i) {
    Recorded& x = r[i];
    if (!in[i]) continue;
    x.slot = slot[i];
    const bool tracked = x.slot != Recorded::kNoSlot, leaf = tracked && x.slot & kLeafBit;
    if (leaf) ++scratch_->leaves[x.slot & ~kLeafBit].readers;
    if ((saves.in >> std::min(i, 31)) & 1u) {
      x.tensor = in[i];
      x.meta = &in[i].meta();
      x.version = in[i].version();
    } else {  // a leaf lives as long as the tape, other shapes may be known already
      x.meta = leaf ? &in[i].meta() : tracked ? scratch_->metas[x.slot] : arena_.make<Meta>(in[i].meta());
    }
  }
  for (int o = 0; o < out.n; ++o) {
    Recorded& x = r[n_in + static_cast<std::size_t>(o)];
    if (!out[o]) continue;
    x.meta = arena_.make<Meta>(out[o].meta());
    if ((saves.out >> o) & 1u) {
      x.tensor = out[o];
      x.version = out[o].version();
    }
    if (!is_floating(out[o].dtype())) continue;
    x.slot = static_cast<std::uint32_t>(scratch_->metas.size());
    scratch_->metas.push_back(x.meta);
    out[o].impl()->mark = {serial_, x.slot};
  }
  e->op = op.clone_to(arena_);
  e->previous = last_;
  last_ = e;
}

void Tape::drop(Entry& e) noexcept {
  e.op->~Op();
  for (Recorded& r : e.in) r.tensor = {};
  for (Recorded& r : e.out) r.tensor = {};
}

void Tape::add_gradient(const Op& op, int i, const Recorded& r, Tensor g, bool create_graph) {
  if (!(g.shape() == r.meta->shape && g.dtype() == r.meta->dtype)) [[unlikely]]
    fail<GradError>(op.info().name, ": its backward made a gradient ", g.shape(), " ", name_of(g.dtype()),
                    " for input ", i, " ", r.meta->shape, " ", name_of(r.meta->dtype), ". This is a fault of the op");
  const bool leaf = r.slot & kLeafBit;
  auto& slots = leaf ? scratch_->leaf_grads : scratch_->grads;
  const std::size_t at = r.slot & ~kLeafBit;
  if (at >= slots.size()) slots.resize(at + 1);
  if (leaf && is_half(g.dtype())) g = to(g, DType::f32);  // many uses of one weight add up in f32
  Tensor& sum = slots[at];
  if (!sum) {
    sum = std::move(g);
  } else if (!create_graph && sum.unique() && sum.layout() != Layout::strided) {
    kernels::zip(exec_of(sum), sum, g, sum, math::Add{});
  } else {
    Tensor both = add(sum, g);
    slots[at] = std::move(both);
  }
}

std::uint32_t Tape::require_slot(const Tensor& y) const {
  const TapeMark& mark = y.impl()->mark;
  const std::uint32_t slot = mark.tape == serial_ ? mark.slot : find_leaf(y.id());
  check<GradError>(slot != Recorded::kNoSlot, "backward: the loss does not depend on any tensor that requires a ",
                   "gradient, or was not computed under this tape");
  return slot;
}

/// Plays the entries backwards from `y`. Calls done(leaf index) when a leaf's gradient is complete, and
/// seen(slot, gradient) when that of another tensor is.
template <class OnDone>
void Tape::walk(const Tensor& y, bool keep_entries, bool create_graph, const OnDone& done) {
  auto& s = *scratch_;
  const std::uint32_t slot = require_slot(y);
  s.grads.clear();
  s.leaf_grads.clear();
  s.grads.resize(s.metas.size());
  s.leaf_grads.resize(s.leaves.size());
  const HookScope<&Hooks::tape> recording(create_graph ? this : nullptr);
  const Scope scope("backward");
  (slot & kLeafBit ? s.leaf_grads[slot & ~kLeafBit] : s.grads[slot]) =
      Tensor::full(y.shape(), 1, y.dtype(), y.device());

  for (Entry* e = last_; e;) {
    Entry* const previous = e->previous;
    Tensor dout[kMaxOutputs];
    bool any = false;
    for (std::size_t o = 0; o < e->out.size(); ++o) {
      const std::uint32_t at = e->out[o].slot;
      if (at == Recorded::kNoSlot || at >= s.grads.size()) continue;
      dout[o] = std::move(s.grads[at]);
      if (dout[o]) {
        any = true;
        done.seen(at, dout[o]);
      }
    }
    if (any) {
      if (s.din.size() < e->in.size()) s.din.resize(e->in.size());
      Backward b(*e->op, e->in, e->out, std::span(dout, e->out.size()), std::span(s.din.data(), e->in.size()));
      e->op->backward(b);
      for (std::size_t i = 0; i < e->in.size(); ++i) {
        Tensor g = std::move(s.din[i]);
        if (g && e->in[i].slot != Recorded::kNoSlot)
          add_gradient(*e->op, static_cast<int>(i), e->in[i], std::move(g), create_graph);
      }
    }
    if (!keep_entries) {
      for (const Recorded& r : e->in)
        if (r.slot != Recorded::kNoSlot && r.slot & kLeafBit && --s.leaves[r.slot & ~kLeafBit].readers == 0)
          done.leaf(r.slot & ~kLeafBit);
      last_ = previous;
      drop(*e);
    }
    e = previous;
  }
}

namespace {

/// Makes `g` fit to be the whole gradient of a leaf: dense, and shared with nothing.
Tensor as_own(Tensor g) {
  if (g.unique() && g.is_contiguous()) return g;
  Tensor copy = Tensor::empty(Meta(g.shape(), g.dtype(), Layout::row_major, g.device()));
  kernels::copy(exec_of(g), g, copy);
  return copy;
}

/// The part that cannot fail: no memory is asked for.
void commit(const Tensor& leaf, Tensor& g) {
  if (!g) return;
  if (const Tensor old = leaf.grad()) {
    kernels::zip(exec_of(old), old, g, old, math::Add{});
    old.bump_version();
    g = {};
  } else {
    leaf.set_grad(std::exchange(g, {}));
  }
}

}  // namespace

void Tape::backward(const Tensor& loss, const OnGrad& on_grad) {
  check<GradError>(!played_,
                   "backward: this tape was already played. Record a new one for each step, or use gradients()");
  check<GradError>(loss && loss.numel() == 1, "backward: the loss must be one number, but its shape is ",
                   loss ? loss.shape() : Shape{});
  auto& s = *scratch_;
  struct Done {
    Tape& tape;
    const OnGrad& on_grad;
    void seen(std::uint32_t, const Tensor&) const {}
    void leaf(std::uint32_t i) const {
      auto& x = *tape.scratch_;
      if (!on_grad || !x.leaf_grads[i] || !x.leaves[i].tensor.requires_grad()) return;
      x.leaf_grads[i] = as_own(std::move(x.leaf_grads[i]));
      commit(x.leaves[i].tensor, x.leaf_grads[i]);
      on_grad(x.leaves[i].tensor);
    }
  };
  require_slot(loss);
  played_ = true;
  walk(loss, false, false, Done{*this, on_grad});
  // Nothing has been written to a leaf yet, unless on_grad asked for it: a failure up to here (out of
  // memory, anomaly) leaves every grad() as it was.
  for (Tensor& g : s.leaf_grads)
    if (g) g = as_own(std::move(g));
  for (std::size_t i = 0; i < s.leaf_grads.size(); ++i)
    if (s.leaves[i].tensor.requires_grad()) commit(s.leaves[i].tensor, s.leaf_grads[i]);
}

std::vector<Tensor> Tape::gradients(const Tensor& y, std::span<const Tensor> inputs, bool create_graph) {
  check<GradError>(!played_, "gradients: this tape was already played. Record a new one");
  struct Done {
    std::vector<std::uint32_t> slots;
    std::vector<Tensor>& result;
    void seen(std::uint32_t slot, const Tensor& g) const {
      for (std::size_t i = 0; i < slots.size(); ++i)
        if (slots[i] == slot) result[i] = g;
    }
    void leaf(std::uint32_t) const {}
  };
  std::vector<Tensor> result(inputs.size());
  Done done{{}, result};
  for (const Tensor& t : inputs)
    done.slots.push_back(t.impl()->mark.tape == serial_ ? t.impl()->mark.slot : find_leaf(t.id()));
  walk(y, true, create_graph, done);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (done.slots[i] & kLeafBit && done.slots[i] != Recorded::kNoSlot)
      result[i] = scratch_->leaf_grads[done.slots[i] & ~kLeafBit];
  scratch_->grads.clear();
  scratch_->leaf_grads.clear();
  return result;
}

std::vector<Tensor> grad(const std::function<Tensor(std::span<const Tensor>)>& fn, std::span<const Tensor> inputs) {
  if (Tape* outer = Tape::current()) {
    for (const Tensor& t : inputs) outer->watch(t);
    return outer->gradients(fn(inputs), inputs, true);
  }
  Tape tape;
  for (const Tensor& t : inputs) tape.watch(t);
  return tape.gradients(fn(inputs), inputs);
}

}  // namespace reel
