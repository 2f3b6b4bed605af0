#include "reel/tests/support/op_checks.h"

#include <cmath>
#include <sstream>

#include "reel/autograd/ops.h"
#include "reel/autograd/tape.h"
#include "reel/core/allocator_adaptors.h"
#include "reel/core/view.h"

namespace reel::test {
namespace {

template <class... P>
std::string line(const P&... parts) {
  std::ostringstream os;
  (os << ... << parts);
  return os.str();
}

std::string describe(const Sample& s) {
  std::ostringstream os;
  os << s.op->info().name << '(';
  for (std::size_t i = 0; i < s.in.size(); ++i) {
    if (i) os << ", ";
    if (s.in[i])
      os << s.in[i].shape();
    else
      os << '-';
  }
  os << ')';
  return os.str();
}

Outputs run(const Op& op, const std::vector<Tensor>& in) {
  std::vector<const Tensor*> p;
  for (const Tensor& t : in) p.push_back(&t);
  Outputs out;
  detail::run(op, Inputs(p.data(), static_cast<int>(p.size())), out);
  return out;
}

bool floating(const Tensor& t) {
  return t && is_floating(t.dtype());
}

std::vector<Tensor> converted(const Sample& s, const std::vector<Tensor>& in, DType dtype) {
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool wide = is_half(dtype) && (s.wide >> i) & 1u;
    out.push_back(floating(in[i]) ? to(in[i], wide ? DType::f32 : dtype) : in[i]);
  }
  return out;
}

double largest(const std::vector<double>& v) {
  double m = 0;
  for (const double x : v)
    if (std::isfinite(x)) m = std::max(m, std::fabs(x));
  return m;
}

/// Bound on the rounding error of one output element: k terms, each at most the product of the largest
/// inputs, accumulated with unit roundoff u_acc (gamma_k in Higham, Accuracy and Stability, ch. 3; 16 more
/// for the elementary functions and the steps around the sum), and one rounding of the result.
double bound(const Sample& s, const std::vector<Tensor>& in, DType out, double expected, double largest_expected) {
  double term = std::max(1.0, largest_expected);
  double product = 1;
  bool wide = true;
  for (const Tensor& t : in) {
    if (!floating(t)) continue;
    product *= std::max(1.0, largest(t.to_vector<double>()));
    wide = wide && t.dtype() == DType::f64;
  }
  term = std::max(term, product);
  const auto k = static_cast<double>(s.accumulates);
  const double u_acc = roundoff(wide ? DType::f64 : DType::f32);
  const double tiniest = out == DType::f16 ? 0x1p-25 : 0;
  return 2 * roundoff(out) * std::fabs(expected) + (k + 16) * u_acc * k * term * s.condition + tiniest;
}

Faults compare(const Sample& s,
               const std::vector<Tensor>& in,
               const Outputs& out,
               const std::vector<Values>& right,
               const std::string& what) {
  Faults faults;
  for (std::size_t o = 0; o < right.size(); ++o) {
    const Tensor& y = out[static_cast<int>(o)];
    const std::vector<double> got = y.to_vector<double>();
    if (got.size() != right[o].size()) {
      faults.push_back(
          line(describe(s), " ", what, ": output ", o, " has ", got.size(), " elements, expected ", right[o].size()));
      continue;
    }
    const double most = largest(right[o]);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double e = right[o][i], g = got[i];
      const bool exact = !is_floating(y.dtype());
      const double allowed = exact ? 0 : bound(s, in, y.dtype(), e, most);
      const bool ok = std::isnan(e) ? std::isnan(g) : std::isinf(e) ? g == e : std::fabs(g - e) <= allowed;
      if (ok) continue;
      faults.push_back(line(describe(s), " ", what, ": output ", o, "[", i, "] got ", g, ", expected ", e, ", off by ",
                            std::fabs(g - e), " (", std::fabs(g - e) / std::max(allowed, 1e-300), " of the bound)"));
      break;
    }
  }
  return faults;
}

void append(Faults& a, Faults b) {
  a.insert(a.end(), b.begin(), b.end());
}

/// Tensors with the values of `t` that lie differently in memory.
std::vector<std::pair<std::string, Tensor>> variants(const Tensor& t) {
  std::vector<std::pair<std::string, Tensor>> all;
  const Shape& shape = t.shape();
  const auto into = [&](const Tensor& target) {
    const Tensor source = contiguous(t);
    for (std::int64_t i = 0, n = t.numel(); i < n; ++i) {
      std::int64_t at = 0, rest = i;
      for (int d = shape.rank() - 1; d >= 0; --d) {
        at += rest % shape[d] * target.strides()[d];
        rest /= shape[d];
      }
      const auto size = static_cast<std::int64_t>(size_of(t.dtype()));
      std::copy_n(source.raw() + i * size, size, target.raw() + at * size);
    }
    return target;
  };
  {
    Shape reversed;
    Dims order;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      reversed.push_back(shape[d]);
      order.push_back(d);
    }
    all.emplace_back("transposed", into(view::permute(Tensor::empty(reversed, t.dtype()), order)));
  }
  if (shape.rank() > 0) {
    Shape larger = shape;
    for (int d = 0; d < shape.rank(); ++d) larger[d] = 2 * shape[d] + 1;
    Tensor cut = Tensor::zeros(larger, t.dtype());
    for (int d = 0; d < shape.rank(); ++d)
      cut = view::slice(cut, d, shape[d] > 0 ? 1 : 0, shape[d] > 0 ? 2 * shape[d] : 0, 2);
    all.emplace_back("sliced", into(cut));
  }
  all.emplace_back("odd offset",
                   into(view::as_strided(Tensor::zeros({t.numel() + 1}, t.dtype()), shape, row_major(shape), 1)));
  if (shape.rank() == 4)
    all.emplace_back("channels last", into(Tensor::empty(Meta(shape, t.dtype(), Layout::channels_last))));
  return all;
}

/// sum(w * output 0) and its gradients with respect to the floating inputs.
struct Gradient {
  double value = 0;
  std::vector<Tensor> d;
};
double value_of(const Sample& s, const std::vector<Tensor>& in, const Tensor& w) {
  const NoGrad pause;
  return sum(mul(run(*s.op, in).t[0], w)).item();
}

Gradient gradient_of(const Sample& s, const std::vector<Tensor>& in, const Tensor& w) {
  Tape tape;
  std::vector<Tensor> leaves, used;
  for (const Tensor& t : in) {
    leaves.push_back(floating(t) ? t.detach() : t);
    if (floating(t)) tape.watch(leaves.back());
  }
  for (const Tensor& t : leaves) used.push_back(floating(t) ? t * 1.0 : t);  // no leaf
  const Tensor y = sum(mul(run(*s.op, used).t[0], w));
  std::vector<Tensor> ask;
  std::vector<std::size_t> place;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!floating(in[i])) continue;
    ask.push_back(leaves[i]);
    place.push_back(i);
  }
  const std::vector<Tensor> g = tape.gradients(y, ask);
  Gradient result{y.item(), std::vector<Tensor>(in.size())};
  for (std::size_t k = 0; k < g.size(); ++k) result.d[place[k]] = g[k];
  return result;
}

bool wants_gradient(const Sample& s, std::size_t i) {
  return floating(s.in[i]) && (s.check_gradient >> i) & 1u;
}

Tensor weights_for(const Sample& s, const std::vector<Tensor>& in, DType dtype) {
  const Tensor y = run(*s.op, in).t[0];
  return to(values(y.shape(), 0.3, 1.7), dtype);
}

/// Central difference of f along element j of input i, with the size of its own error.
template <class F>
std::pair<double, double> difference(std::vector<Tensor>& in, std::size_t i, std::int64_t j, const F& f) {
  double& x = in[i].data<double>()[j];
  const double x0 = x, h = 1e-3;
  const auto central = [&](double step) {
    x = x0 + step;
    const double up = f();
    x = x0 - step;
    const double down = f();
    x = x0;
    return (up - down) / (2 * step);
  };
  const double wide = central(h), narrow = central(h / 2), best = (4 * narrow - wide) / 3;
  // Richardson removes the h^2 term; what remains is of order h^4, bounded by a part of what was removed,
  // and the rounding of f divided by the step.
  return {best, std::fabs(narrow - wide) * 0.02 + 64 * roundoff(DType::f64) * (std::fabs(f()) + 1) / h};
}

std::vector<Tensor> copies(const std::vector<Tensor>& in) {
  std::vector<Tensor> c;
  for (const Tensor& t : in) c.push_back(t ? clone(t) : t);
  return c;
}

}  // namespace

double roundoff(DType t) {
  switch (t) {
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    case DType::f32:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}

Faults check_values(const Sample& s, DType dtype) {
  const std::vector<Tensor> in = converted(s, s.in, dtype);
  Faults faults;
  const auto allocator = std::make_shared<PoisoningAllocator>();
  Outputs out;
  {
    const AllocatorScope scope(allocator);
    out = run(*s.op, in);
  }
  for (int o = 0; o < out.n; ++o) {
    const Storage& bytes = *out[o].impl()->storage;
    if (!s.op->info().makes_output && bytes.bytes() && !PoisoningAllocator::intact(bytes.data(), bytes.bytes()))
      faults.push_back(line(describe(s), ": wrote outside of output ", o));
  }
  if (s.reference) {
    append(faults, compare(s, in, out, s.reference(in), std::string(name_of(dtype))));
  } else {
    const std::string_view name = s.op->info().name;
    if (name.find("_grad") == std::string_view::npos) faults.push_back(line(describe(s), ": has no reference"));
    for (int o = 0; o < out.n; ++o)  // poison is NaN: what is not written shows
      for (const double v : out[o].to_vector<double>())
        if (std::isnan(v)) {
          faults.push_back(line(describe(s), " ", name_of(dtype), ": output ", o, " holds NaN or was not written"));
          break;
        }
  }
  out = {};
  if (allocator->damaged()) faults.push_back(line(describe(s), ": wrote outside of a block"));
  return faults;
}

Faults check_layouts(const Sample& s, DType dtype) {
  Faults faults;
  if (s.exact_layout || !s.reference) return faults;
  const std::vector<Tensor> in = converted(s, s.in, dtype);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i]) continue;
    for (const auto& [name, variant] : variants(in[i])) {
      std::vector<Tensor> changed = in;
      changed[i] = variant;
      append(faults, compare(s, changed, run(*s.op, changed), s.reference(changed),
                             line(name_of(dtype), ", input ", i, " ", name)));
    }
    for (int d = 0; d < in[i].rank(); ++d) {
      if (in[i].shape()[d] < 2 || !is_floating(in[i].dtype())) continue;
      std::vector<Tensor> changed = in;
      changed[i] = view::expand(view::slice(in[i], d, 0, 1), in[i].shape());
      append(faults, compare(s, changed, run(*s.op, changed), s.reference(changed),
                             line(name_of(dtype), ", input ", i, " repeated along ", d)));
    }
  }
  return faults;
}

Faults check_gradients(const Sample& s) {
  Faults faults;
  if (!s.op->info().differentiable || s.check_gradient == 0) return faults;
  std::vector<Tensor> in = copies(s.in);
  const Tensor w = weights_for(s, in, DType::f64);
  if (!is_floating(run(*s.op, in).t[0].dtype())) return faults;
  const Gradient g = gradient_of(s, in, w);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!wants_gradient(s, i)) continue;
    const std::vector<double> got =
        g.d[i] ? g.d[i].to_vector<double>() : std::vector<double>(static_cast<std::size_t>(in[i].numel()));
    for (std::int64_t j = 0; j < in[i].numel(); ++j) {
      const auto [right, error] = difference(in, i, j, [&] { return value_of(s, in, w); });
      const double x = got[static_cast<std::size_t>(j)];
      if (std::fabs(x - right) <= error + 1e-9 * std::fabs(right)) continue;
      faults.push_back(line(describe(s), ": gradient of input ", i, "[", j, "] is ", x, ", central difference ", right,
                            " +- ", error));
      break;
    }
  }
  return faults;
}

Faults check_gradients_narrow(const Sample& s, DType dtype) {
  Faults faults;
  if (!s.op->info().differentiable || s.check_gradient == 0) return faults;
  const std::vector<Tensor> narrow = converted(s, s.in, dtype), wide = converted(s, narrow, DType::f64);
  if (run(*s.op, narrow).t[0].dtype() != dtype) return faults;
  const Tensor w = weights_for(s, wide, dtype);
  const Gradient a = gradient_of(s, narrow, w), b = gradient_of(s, wide, to(w, DType::f64));
  for (std::size_t i = 0; i < s.in.size(); ++i) {
    if (!wants_gradient(s, i) || !b.d[i]) continue;
    if (!a.d[i]) {
      faults.push_back(line(describe(s), " ", name_of(dtype), ": no gradient of input ", i));
      continue;
    }
    const std::vector<double> got = a.d[i].to_vector<double>(), right = b.d[i].to_vector<double>();
    const double most = largest(right);
    for (std::size_t j = 0; j < got.size(); ++j) {
      const double allowed = 64 * bound(s, narrow, dtype, right[j], most);  // a backward pass is several ops
      if (std::fabs(got[j] - right[j]) <= allowed) continue;
      faults.push_back(line(describe(s), " ", name_of(dtype), ": gradient of input ", i, "[", j, "] is ", got[j],
                            ", in f64 ", right[j]));
      break;
    }
  }
  return faults;
}

Faults check_second_gradients(const Sample& s) {
  Faults faults;
  if (!s.op->info().differentiable || s.check_gradient == 0 || !is_floating(run(*s.op, s.in).t[0].dtype()))
    return faults;
  std::vector<Tensor> in = copies(s.in);
  const Tensor w = weights_for(s, in, DType::f64);
  std::vector<Tensor> v;  // directions: h(x) = sum_i <v_i, df/dx_i>
  for (const Tensor& t : in) v.push_back(floating(t) ? values(t.shape(), 0.3, 1.7) : Tensor{});
  const auto first = [&](Tape& tape, std::vector<Tensor>& leaves) {
    std::vector<Tensor> ask;
    leaves.clear();
    for (const Tensor& t : in) {
      leaves.push_back(floating(t) ? t.detach() : t);
      if (floating(t)) tape.watch(leaves.back());
    }
    for (std::size_t i = 0; i < in.size(); ++i)
      if (wants_gradient(s, i)) ask.push_back(leaves[i]);
    const std::vector<Tensor> g = tape.gradients(sum(mul(run(*s.op, leaves).t[0], w)), ask, true);
    Tensor h = Tensor::scalar(0, DType::f64);
    for (std::size_t i = 0, k = 0; i < in.size(); ++i) {
      if (!wants_gradient(s, i)) continue;
      if (g[k]) h = h + sum(mul(g[k], v[i]));
      ++k;
    }
    return h;
  };
  try {
    Tape tape;
    std::vector<Tensor> leaves, ask;
    const Tensor h = first(tape, leaves);
    for (std::size_t i = 0; i < in.size(); ++i)
      if (wants_gradient(s, i)) ask.push_back(leaves[i]);
    std::vector<Tensor> g;
    if (h.impl()->mark.tape)
      g = tape.gradients(h, ask);
    else
      g.resize(ask.size());  // the first gradient is a constant: all zero
    for (std::size_t i = 0, k = 0; i < in.size(); ++i) {
      if (!wants_gradient(s, i)) continue;
      const Tensor& d = g[k++];
      const std::vector<double> got =
          d ? d.to_vector<double>() : std::vector<double>(static_cast<std::size_t>(in[i].numel()));
      for (std::int64_t j = 0; j < in[i].numel(); ++j) {
        const auto [right, error] = difference(in, i, j, [&] {
          Tape t;
          std::vector<Tensor> unused;
          return first(t, unused).item();
        });
        const double x = got[static_cast<std::size_t>(j)];
        if (std::fabs(x - right) <= error + 1e-8 * std::fabs(right)) continue;
        faults.push_back(line(describe(s), ": second gradient of input ", i, "[", j, "] is ", x,
                              ", central difference ", right, " +- ", error));
        break;
      }
    }
  } catch (const GradError& e) {
    // A fused backward has no derivative; the message must name it.
    if (std::string_view(e.what()).find("no derivative of its own") == std::string_view::npos)
      faults.push_back(line(describe(s), ": ", e.what()));
  }
  return faults;
}

Faults check_description(const Sample& s) {
  Faults faults;
  const OpInfo& info = s.op->info();
  if (info.name.empty() || info.formula.empty()) faults.push_back(line(describe(s), ": no name or no formula"));
  std::vector<const Meta*> in;
  for (const Tensor& t : s.in) in.push_back(t ? &t.meta() : nullptr);
  OutMetas out;
  s.op->infer(in, out);
  const Cost c = s.op->cost(in, std::span<const Meta>(out.m, static_cast<std::size_t>(out.n)));
  if (!(c.flops >= 0 && std::isfinite(c.flops) && c.bytes >= 0 && std::isfinite(c.bytes)))
    faults.push_back(line(describe(s), ": cost ", c.flops, " flops, ", c.bytes, " bytes"));
  const Outputs real = run(*s.op, s.in);
  for (int o = 0; o < out.n; ++o)
    if (real[o].shape() != out.m[o].shape || real[o].dtype() != out.m[o].dtype)
      faults.push_back(
          line(describe(s), ": infer says ", out.m[o].shape, " for output ", o, ", forward made ", real[o].shape()));
  return faults;
}

}  // namespace reel::test
