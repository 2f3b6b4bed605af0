#include "reel/autograd/apply.h"

#include <array>
#include <vector>

#include "reel/autograd/tape.h"
#include "reel/kernels/pointwise.h"

namespace reel {
namespace {

constexpr int kMostScopes = 64;
struct ScopeStack {
  std::array<std::string_view, kMostScopes> name;
  int depth = 0;
};
thread_local ScopeStack t_scopes;

/// `index` of a row-major position, for messages.
std::string position(std::int64_t at, const Shape& shape) {
  Dims index = Dims::filled(shape.rank(), 0);
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[d] = at % shape[d];
    at /= shape[d];
  }
  return to_string(index);
}

bool finite(const Tensor& t) {
  return !t || kernels::first_nonfinite({t.device(), {t.device()}}, t) < 0;
}

void check_finite(const Op& op, Inputs in, const Outputs& out) {
  for (int o = 0; o < out.n; ++o) {
    if (!out[o]) continue;
    const std::int64_t at = kernels::first_nonfinite({out[o].device(), {out[o].device()}}, out[o]);
    if (at < 0) continue;
    for (int i = 0; i < in.size(); ++i)
      if (!finite(in[i])) return;  // the fault is older than this op
    const std::string scope = Scope::path();
    fail<GradError>(op.info().name, ": first non-finite value: output ", o, " ", out[o].shape(), " at ",
                    position(at, out[o].shape()), scope.empty() ? "" : ", in scope ", scope,
                    ". All inputs were finite: look at their size and at this op's domain");
  }
}

/// Checks, allocates, computes. `m` are the metas of `in`.
void compute(const Op& op, Inputs in, std::span<const Meta*> m, Outputs& out) {
  const Device device = [&] {
    for (int i = 0; i < in.size(); ++i)
      if (in[i]) return in[i].device();
    return Device{};
  }();
  for (int i = 0; i < in.size(); ++i) {
    m[static_cast<std::size_t>(i)] = in[i] ? &in[i].meta() : nullptr;
    if (in[i] && in[i].device() != device) [[unlikely]]
      fail<DeviceError>(op.info().name, ": inputs live on different devices: ", device, ", ", in[i].device(),
                        ". Move them to one with to(x, device)");
  }
  OutMetas metas;
  op.infer(m, metas);
  out.n = metas.n;
  const bool makes_output = op.info().makes_output;
  if (!makes_output) {
    for (int o = 0; o < metas.n; ++o) {
      metas.m[o].device = device;
      out[o] = Tensor::empty(metas.m[o]);
    }
  }
  op.forward(in, out);
}

void run_hooked(const Op& op, Inputs in, Outputs& out, const Hooks& hooks) {
  std::vector<const Tensor*> p(static_cast<std::size_t>(in.size()));
  std::vector<Tensor> owned(p.size());
  std::vector<const Meta*> m(p.size());
  for (int i = 0; i < in.size(); ++i) p[static_cast<std::size_t>(i)] = &in[i];
  if (hooks.rule) hooks.rule->adjust(op, p, owned);
  const Inputs used(p.data(), in.size());
  if (hooks.observer) hooks.observer->before(op, used);
  compute(op, used, m, out);
  if (hooks.observer) hooks.observer->after(op, used, out);
  if (hooks.anomaly) check_finite(op, used, out);
  if (hooks.tape) hooks.tape->record(op, used, out);
}

}  // namespace

Scope::Scope(std::string_view name) {
  if (t_scopes.depth < kMostScopes) t_scopes.name[static_cast<std::size_t>(t_scopes.depth)] = name;
  ++t_scopes.depth;
}
Scope::~Scope() {
  --t_scopes.depth;
}
std::string Scope::path() {
  std::string s;
  for (int i = 0; i < std::min(t_scopes.depth, kMostScopes); ++i)
    s.append(i ? "/" : "").append(t_scopes.name[static_cast<std::size_t>(i)]);
  return s;
}

void detail::run(const Op& op, Inputs in, Outputs& out) {
  const Hooks& hooks = Hooks::current();
  constexpr int kFew = 8;
  if (hooks.rule || hooks.observer || hooks.anomaly || in.size() > kFew) [[unlikely]]
    return run_hooked(op, in, out, hooks);
  const Meta* m[kFew];
  compute(op, in, std::span(m, static_cast<std::size_t>(in.size())), out);
  if (hooks.tape) hooks.tape->record(op, in, out);
}

}  // namespace reel
