// Group norm and batch norm on the CPU: passes over planes, and between them arithmetic on small
// tables.
#include <cmath>

#include "reel/kernels/cpu/channel_impl.h"
#include "reel/kernels/norm.h"

namespace reel::kernels {
namespace {

template <class A>
std::vector<A> table(std::int64_t n) {
  return std::vector<A>(static_cast<std::size_t>(n));
}
Layout dense_layout(const View& x) {
  return x.layout == Layout::channels_last ? Layout::channels_last : Layout::row_major;
}

/// Adds [n, c] numbers over n, in order, and writes them to `out` [c] if it is asked for.
template <class A>
void sum_samples(const Exec& exec, std::vector<A>& v, std::int64_t n, std::int64_t c, const View& out) {
  if (!out.data) return;
  if (n == 0) v.assign(static_cast<std::size_t>(c), A(0));
  for (std::int64_t i = 1; i < n; ++i) sum_columns<1>(v.data() + i * c, v.data(), c);
  copy(exec, view_of(v.data(), out.shape), out);
}

}  // namespace

void group_norm(const Exec& exec,
                const View& x,
                const View& weight,
                const View& bias,
                const View& y,
                const View& mean,
                const View& rstd,
                double eps) {
  visit_floating(x.dtype, [&]<class T>() {
    using A = Acc<T>;
    const Planes p = planes_of(x);
    const std::int64_t groups = rstd.shape[1], each = groups ? p.c / groups : 0;
    const Layout layout = dense_layout(x);
    const Dense xs = Dense::read(exec, x, x.dtype, layout), out(y, x.dtype, layout);
    const Optional<A> w(exec, weight), b(exec, bias);
    const Dense means(mean, dtype_of<A>(), Layout::row_major), rstds(rstd, dtype_of<A>(), Layout::row_major);
    auto m = table<A>(p.count()), a = table<A>(p.count()), k = table<A>(p.count());
    std::vector<Moments> moments(m.size());
    plane_moments(xs.as<T>(), p, moments.data());
    for (std::int64_t g = 0; g < p.n * groups; ++g) {
      const auto first = static_cast<std::size_t>(g * each), last = static_cast<std::size_t>((g + 1) * each);
      Moments all;
      for (std::size_t i = first; i < last; ++i) all.add(moments[i]);
      const A r = static_cast<A>(1 / std::sqrt(all.var() + eps));
      means.as<A>()[g] = static_cast<A>(all.mean);
      rstds.as<A>()[g] = r;
      for (std::size_t i = first; i < last; ++i) {
        const std::int64_t c = static_cast<std::int64_t>(i) % p.c;
        m[i] = static_cast<A>(all.mean);
        a[i] = r * w.at_or(c, 1);
        k[i] = b.at_or(c, 0);
      }
    }
    if (x.numel) plane_affine(xs.as<T>(), p, p.count(), m.data(), a.data(), k.data(), out.as<T>());
    out.write(exec);
    means.write(exec);
    rstds.write(exec);
  });
}

void group_norm_grad(const Exec& exec,
                     const View& x,
                     const View& weight,
                     const View& mean,
                     const View& rstd,
                     const View& dy,
                     const View& dx,
                     const View& dweight,
                     const View& dbias) {
  visit_floating(x.dtype, [&]<class T>() {
    using A = Acc<T>;
    const Planes p = planes_of(x);
    const std::int64_t groups = rstd.shape[1], each = groups ? p.c / groups : 0;
    const Layout layout = dense_layout(x);
    const Dense xs = Dense::read(exec, x, x.dtype, layout), dys = Dense::read(exec, dy, x.dtype, layout);
    const Optional<A> w(exec, weight), means(exec, mean), rstds(exec, rstd);
    const Dense out(dx.data ? dx : x, x.dtype, layout);
    auto m = table<A>(p.count()), a = m, b = m, k = m, sum = m, product = m;
    for (std::size_t i = 0; i < m.size(); ++i) m[i] = means[static_cast<std::int64_t>(i) / each];
    plane_products(xs.as<T>(), dys.as<T>(), p, p.count(), m.data(), sum.data(), product.data());
    const double inverse = each * p.s > 0 ? 1.0 / static_cast<double>(each * p.s) : 0.0;
    for (std::int64_t g = 0; g < p.n * groups; ++g) {
      // With g = dy w: dx = r g - r mean(g) - (x - m) r^3 mean(g (x - m)), the means over the
      // group.
      const auto first = static_cast<std::size_t>(g * each), last = static_cast<std::size_t>((g + 1) * each);
      const double r = rstds[g];
      double sum_g = 0, sum_gx = 0;
      for (std::size_t i = first; i < last; ++i) {
        const A wi = w.at_or(static_cast<std::int64_t>(i) % p.c, 1);
        a[i] = static_cast<A>(r) * wi;
        sum_g += static_cast<double>(wi) * sum[i];
        sum_gx += static_cast<double>(wi) * product[i];
      }
      for (std::size_t i = first; i < last; ++i) {
        b[i] = static_cast<A>(-r * r * r * sum_gx * inverse);
        k[i] = static_cast<A>(-r * sum_g * inverse);
        product[i] *= static_cast<A>(r);
      }
    }
    if (dx.numel) {
      plane_gradient(xs.as<T>(), dys.as<T>(), p, p.count(), m.data(), a.data(), b.data(), k.data(), out.as<T>());
      out.write(exec);
    }
    sum_samples(exec, product, p.n, p.c, dweight);
    sum_samples(exec, sum, p.n, p.c, dbias);
  });
}

void batch_norm_statistics(const Exec& exec, const View& x, const View& mean, const View& var) {
  visit_floating(x.dtype, [&]<class T>() {
    using A = Acc<T>;
    const Planes p = merged(planes_of(x));
    const Dense xs = Dense::read(exec, x, x.dtype, dense_layout(x));
    const Dense means(mean, dtype_of<A>(), Layout::row_major), vars(var, dtype_of<A>(), Layout::row_major);
    std::vector<Moments> moments(static_cast<std::size_t>(p.count()));
    plane_moments(xs.as<T>(), p, moments.data());
    for (std::int64_t c = 0; c < p.c; ++c) {
      Moments all;
      for (std::int64_t i = c; i < p.count(); i += p.c) all.add(moments[static_cast<std::size_t>(i)]);
      means.as<A>()[c] = static_cast<A>(all.mean);
      vars.as<A>()[c] = static_cast<A>(all.var());
    }
    means.write(exec);
    vars.write(exec);
  });
}

void batch_norm(const Exec& exec,
                const View& x,
                const View& mean,
                const View& var,
                const View& weight,
                const View& bias,
                const View& y,
                double eps) {
  if (x.numel == 0) return;
  visit_floating(x.dtype, [&]<class T>() {
    using A = Acc<T>;
    const Planes p = merged(planes_of(x));
    const Layout layout = dense_layout(x);
    const Dense xs = Dense::read(exec, x, x.dtype, layout), out(y, x.dtype, layout);
    const Optional<A> w(exec, weight), b(exec, bias), means(exec, mean), vars(exec, var);
    auto a = table<A>(p.c), k = a;
    for (std::int64_t c = 0; c < p.c; ++c) {
      const double r = 1 / std::sqrt(static_cast<double>(vars[c]) + eps);
      a[static_cast<std::size_t>(c)] = static_cast<A>(r * w.at_or(c, 1));
      k[static_cast<std::size_t>(c)] = b.at_or(c, 0);
    }
    plane_affine(xs.as<T>(), p, p.c, means.data(), a.data(), k.data(), out.as<T>());
    out.write(exec);
  });
}

void batch_norm_grad(const Exec& exec,
                     const View& x,
                     const View& mean,
                     const View& var,
                     const View& weight,
                     const View& dy,
                     const View& dx,
                     const View& dweight,
                     const View& dbias,
                     double eps,
                     bool of_batch) {
  visit_floating(x.dtype, [&]<class T>() {
    using A = Acc<T>;
    const Planes p = merged(planes_of(x));
    const Layout layout = dense_layout(x);
    const Dense xs = Dense::read(exec, x, x.dtype, layout), dys = Dense::read(exec, dy, x.dtype, layout);
    const Optional<A> w(exec, weight), means(exec, mean), vars(exec, var);
    const Dense out(dx.data ? dx : x, x.dtype, layout);
    auto sum = table<A>(p.count()), product = sum;
    if (of_batch || dweight.data || dbias.data)
      plane_products(xs.as<T>(), dys.as<T>(), p, p.c, means.data(), sum.data(), product.data());
    auto a = table<A>(p.c), b = a, k = a;
    const double inverse = p.n * p.s > 0 ? 1.0 / static_cast<double>(p.n * p.s) : 0.0;
    for (std::int64_t c = 0; c < p.c; ++c) {
      // dx = w r (dy - mean(dy) - (x - m) r^2 mean(dy (x - m))); without the means where m and r
      // are constants.
      const auto at = static_cast<std::size_t>(c);
      const double r = 1 / std::sqrt(static_cast<double>(vars[c]) + eps), wr = r * w.at_or(c, 1);
      double sum_dy = 0, sum_dyx = 0;
      for (auto i = at; i < sum.size(); i += static_cast<std::size_t>(p.c)) {
        sum_dy += sum[i];
        sum_dyx += product[i];
        product[i] = static_cast<A>(product[i] * r);
      }
      a[at] = static_cast<A>(wr);
      if (!of_batch) continue;
      b[at] = static_cast<A>(-wr * r * r * sum_dyx * inverse);
      k[at] = static_cast<A>(-wr * sum_dy * inverse);
    }
    if (dx.numel) {
      plane_gradient(xs.as<T>(), dys.as<T>(), p, p.c, means.data(), a.data(), b.data(), k.data(), out.as<T>());
      out.write(exec);
    }
    sum_samples(exec, product, p.n, p.c, dweight);
    sum_samples(exec, sum, p.n, p.c, dbias);
  });
}

}  // namespace reel::kernels
