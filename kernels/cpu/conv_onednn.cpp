// Convolution by oneDNN, f32. It runs on single threads, each on a chunk of the batch whose borders
// depend on the sizes alone, so that results are the same for any number of threads. x and y are
// nhwc, the weights in whatever format oneDNN likes best: they are brought into it once a call.
#include "reel/kernels/cpu/conv_impl.h"
#include "reel/kernels/cpu/onednn_impl.h"

#ifdef REEL_WITH_ONEDNN
#include <array>
#include <dnnl.hpp>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reel/core/parallel.h"

namespace reel::kernels {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

enum class Pass : std::int64_t { forward, forward_bias, data_grad, weight_grad };

const dnnl::engine& engine() {
  static const dnnl::engine e(dnnl::engine::kind::cpu, 0);
  return e;
}
dnnl::stream& stream() {
  thread_local dnnl::stream s(engine());
  return s;
}

/// What identifies a primitive.
using Key = std::array<std::int64_t, 18>;
Key key_of(Pass p, const ConvSizes& s, std::int64_t images) {
  const ConvSteps& t = s.step;
  return {static_cast<std::int64_t>(p),
          images,
          s.ci,
          s.h,
          s.w,
          s.co,
          s.oh,
          s.ow,
          s.kh,
          s.kw,
          t.stride_h,
          t.stride_w,
          t.padding_h,
          t.padding_w,
          t.dilation_h,
          t.dilation_w,
          t.groups,
          0};
}

/// A primitive for `images` images with the memory objects it runs on: only their addresses change.
class Compiled {
 public:
  Compiled(Pass pass, const ConvSizes& s, std::int64_t images) {
    try {
      build(pass, s, images);
    } catch (const dnnl::error&) {
      fast_ = false;  // not implemented for these sizes
    }
  }
  /// False where oneDNN has nothing better than its reference code.
  bool fast() const { return fast_; }
  const memory::desc& weights() const { return weights_; }
  bool plain_weights() const { return weights_ == plain_; }
  memory weights_at(float* p) const { return {weights_, engine(), p}; }
  memory plain_at(float* p) const { return {plain_, engine(), p}; }

  void run(const float* x, const memory& w, const float* bias, const float* y) {
    arg(x_, x);
    args_.insert_or_assign(w_, w);
    arg(y_, y);
    if (bias) arg(DNNL_ARG_BIAS, bias);
    primitive_.execute(stream(), args_);
  }

 private:
  void arg(int which, const float* p) {
    args_.at(which).set_data_handle(const_cast<float*>(p));  // oneDNN has no const memory
  }

  void build(Pass pass, const ConvSizes& s, std::int64_t n) {
    using Dims = memory::dims;
    constexpr auto f32 = memory::data_type::f32;
    constexpr auto algorithm = dnnl::algorithm::convolution_direct;
    constexpr auto kind = dnnl::prop_kind::forward_training;
    const ConvSteps& t = s.step;
    const bool grouped = t.groups > 1;
    const Dims filter = grouped ? Dims{t.groups, s.co_group(), s.ci_group(), s.kh, s.kw} : Dims{s.co, s.ci, s.kh, s.kw};
    const memory::desc x({n, s.ci, s.h, s.w}, f32, Tag::nhwc), y({n, s.co, s.oh, s.ow}, f32, Tag::nhwc);
    const memory::desc w(filter, f32, Tag::any);
    const memory::desc bias = pass == Pass::forward_bias ? memory::desc({s.co}, f32, Tag::x) : memory::desc();
    const Dims stride{t.stride_h, t.stride_w}, pad{t.padding_h, t.padding_w};
    const Dims dilate{t.dilation_h - 1, t.dilation_w - 1};  // oneDNN counts the gaps
    plain_ = memory::desc(filter, f32, grouped ? Tag::goihw : Tag::oihw);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::convolution_forward::primitive_desc forward(engine(), kind, algorithm, x, w, bias, y, stride, dilate,
                                                            pad, pad);
#else
    const dnnl::convolution_forward::primitive_desc forward({kind, algorithm, x, w, bias, y, stride, dilate, pad, pad},
                                                            engine());
#endif
    if (pass == Pass::forward || pass == Pass::forward_bias) {
      x_ = DNNL_ARG_SRC, w_ = DNNL_ARG_WEIGHTS, y_ = DNNL_ARG_DST;
      finish(forward, forward.weights_desc(), x, y);
      primitive_ = dnnl::convolution_forward(forward);
      if (pass == Pass::forward_bias) args_.emplace(DNNL_ARG_BIAS, memory(bias, engine(), DNNL_MEMORY_NONE));
    } else if (pass == Pass::data_grad) {
#if DNNL_VERSION_MAJOR >= 3
      const dnnl::convolution_backward_data::primitive_desc d(engine(), algorithm, x, w, y, stride, dilate, pad, pad,
                                                              forward);
#else
      const dnnl::convolution_backward_data::primitive_desc d({algorithm, x, w, y, stride, dilate, pad, pad}, engine(),
                                                              forward);
#endif
      x_ = DNNL_ARG_DIFF_SRC, w_ = DNNL_ARG_WEIGHTS, y_ = DNNL_ARG_DIFF_DST;
      finish(d, d.weights_desc(), x, y);
      primitive_ = dnnl::convolution_backward_data(d);
    } else {
#if DNNL_VERSION_MAJOR >= 3
      const dnnl::convolution_backward_weights::primitive_desc d(engine(), algorithm, x, w, y, stride, dilate, pad, pad,
                                                                 forward);
#else
      const dnnl::convolution_backward_weights::primitive_desc d({algorithm, x, w, y, stride, dilate, pad, pad},
                                                                 engine(), forward);
#endif
      x_ = DNNL_ARG_SRC, w_ = DNNL_ARG_DIFF_WEIGHTS, y_ = DNNL_ARG_DIFF_DST;
      finish(d, d.diff_weights_desc(), x, y);
      primitive_ = dnnl::convolution_backward_weights(d);
    }
  }

  template <class Desc>
  void finish(const Desc& d, const memory::desc& weights, const memory::desc& x, const memory::desc& y) {
    fast_ = !std::string_view(d.impl_info_str()).starts_with("ref");
    weights_ = weights;
    args_.emplace(x_, memory(x, engine(), DNNL_MEMORY_NONE));
    args_.emplace(y_, memory(y, engine(), DNNL_MEMORY_NONE));
  }

  dnnl::primitive primitive_;
  std::unordered_map<int, memory> args_;
  memory::desc plain_, weights_;
  int x_ = 0, w_ = 0, y_ = 0;
  bool fast_ = true;
};

/// The primitive for these sizes, from the cache of this thread. Making one costs many times the
/// run of a small one, and a primitive of one thread may keep its own scratch memory. Valid until
/// the next call.
Compiled& compiled(Pass pass, const ConvSizes& s, std::int64_t images) {
  struct Entry {
    Key key;
    std::uint64_t used;
    std::unique_ptr<Compiled> value;
  };
  constexpr std::size_t kMost = 128;
  thread_local std::vector<Entry> cache;
  thread_local std::uint64_t clock = 0;
  const Key key = key_of(pass, s, images);
  for (Entry& e : cache)
    if (e.key == key) {
      e.used = ++clock;
      return *e.value;
    }
  Entry fresh{key, ++clock, std::make_unique<Compiled>(pass, s, images)};
  if (cache.size() < kMost) {
    cache.push_back(std::move(fresh));
    return *cache.back().value;
  }
  Entry& oldest = *std::ranges::min_element(cache, {}, &Entry::used);
  oldest = std::move(fresh);
  return *oldest.value;
}

/// Runs `fn` as oneDNN expects it; its errors become ours.
template <class Fn>
auto guarded(const Fn& fn) {
  [[maybe_unused]] const OneThread one;
  try {
    return fn();
  } catch (const dnnl::error& e) {
    fail<Error>("conv2d: oneDNN failed with status ", static_cast<int>(e.status), ": ", e.what());
  }
}

void reorder(memory from, memory to) {
  dnnl::reorder(from, to).execute(stream(), from, to);
}

/// Weights in the format of a primitive. Chunks share the memory object: to give oneDNN 2 an
/// address is to write the padding behind it.
struct Weights {
  Tensor owned;
  memory value;
};
Weights weights_for(const Compiled& c, const float* plain) {
  const memory from = c.plain_at(const_cast<float*>(plain));
  if (c.plain_weights()) return {{}, from};
  const auto floats = static_cast<std::int64_t>(c.weights().get_size() / sizeof(float));
  Weights w{Tensor::empty({floats}), {}};
  w.value = c.weights_at(w.owned.data<float>());
  reorder(from, w.value);
  return w;
}

bool all_nonzero(const ConvSizes& s) {
  return s.n > 0 && s.ci > 0 && s.co > 0 && s.h > 0 && s.w > 0 && s.oh > 0 && s.ow > 0;
}

/// The forward pass and the gradient to x: chunks of images are independent.
bool run_images(Pass pass, const ConvSizes& s, const float* x, const float* weight, const float* bias, const float* y) {
  if (!all_nonzero(s)) return false;
  const std::int64_t per = std::min(s.images_per_chunk(), s.n), rest = s.n % per;
  // The last chunk may be smaller, and oneDNN may choose another weight format for it.
  Weights whole, last;
  const bool usable = guarded([&] {
    Compiled& c = compiled(pass, s, per);
    if (!c.fast()) return false;
    whole = weights_for(c, weight);
    const memory::desc format = c.weights();
    if (rest == 0) return true;
    Compiled& d = compiled(pass, s, rest);
    if (!d.fast()) return false;
    last = d.weights() == format ? whole : weights_for(d, weight);
    return true;
  });
  if (!usable) return false;
  parallel_for(s.n, per, [&](std::int64_t begin, std::int64_t end) {
    guarded([&] {
      compiled(pass, s, end - begin)
          .run(x + begin * s.h * s.w * s.ci, end - begin == per ? whole.value : last.value, bias,
               y + begin * s.pixels() * s.co);
    });
  });
  return true;
}

}  // namespace

bool conv_onednn(const ConvSizes& s, const float* x, const float* weight, const float* bias, float* y) {
  return run_images(bias ? Pass::forward_bias : Pass::forward, s, x, weight, bias, y);
}

bool conv_onednn_data_grad(const ConvSizes& s, const float* dy, const float* weight, float* dx) {
  return run_images(Pass::data_grad, s, dx, weight, nullptr, dy);
}

bool conv_onednn_weight_grad(const ConvSizes& s, const float* x, const float* dy, float* dw) {
  if (!all_nonzero(s)) return false;
  const std::int64_t per = std::min(s.images_per_partial(), s.n), chunks = (s.n + per - 1) / per;
  const std::int64_t rest = s.n % per;
  std::int64_t pitch = 0;  // floats in a partial result
  bool plain = false;
  const bool usable = guarded([&] {
    Compiled& c = compiled(Pass::weight_grad, s, per);
    if (!c.fast()) return false;
    pitch = static_cast<std::int64_t>(c.weights().get_size() / sizeof(float));
    plain = c.plain_weights();
    const memory::desc format = c.weights();
    if (rest == 0) return true;
    Compiled& d = compiled(Pass::weight_grad, s, rest);
    return d.fast() && d.weights() == format;  // else the partial results could not be added
  });
  if (!usable) return false;
  const Tensor parts = Tensor::empty({plain && chunks == 1 ? 0 : chunks * pitch});
  float* const first = plain && chunks == 1 ? dw : parts.data<float>();
  parallel_for(s.n, per, [&](std::int64_t begin, std::int64_t end) {
    guarded([&] {
      Compiled& c = compiled(Pass::weight_grad, s, end - begin);
      c.run(x + begin * s.h * s.w * s.ci, c.weights_at(first + begin / per * pitch), nullptr,
            dy + begin * s.pixels() * s.co);
    });
  });
  if (chunks > 1) add_parts(first, chunks, pitch, plain ? dw : first, pitch);
  if (!plain)
    guarded([&] {
      const Compiled& c = compiled(Pass::weight_grad, s, per);
      reorder(c.weights_at(first), c.plain_at(dw));
    });
  return true;
}

}  // namespace reel::kernels
#endif
