// Losses of labels on the CPU. One row of logits at a time, in the first-level cache: its maximum,
// then the sum of exponentials; the gradient is one pass over the logits. Bound by the
// exponentials.
#include "reel/kernels/loss.h"

#include "reel/core/view.h"
#include "reel/kernels/cpu/loss_impl.h"
#include "reel/kernels/cpu/wide_row_impl.h"
#include "reel/kernels/math/elementary.h"

namespace reel::kernels {
namespace {

/// [n, c, d...] as [n, d..., c].
View class_last(const View& v) {
  if (v.rank() == 2) return v;
  View r = v;
  r.shape.erase(1);
  r.strides.erase(1);
  r.shape.push_back(v.shape[1]);
  r.strides.push_back(v.strides[1]);
  r.layout = view::layout_of(r.shape, r.strides);
  return r;
}

/// The labels in row-major order, all checked.
class Labels {
 public:
  Labels(const Exec& exec, std::string_view op, const View& v, std::int64_t classes, std::int64_t ignore)
      : dense_(Dense::read(exec, v, DType::i64, Layout::row_major)), label_(dense_.as<std::int64_t>()) {
    if (count_bad(label_, v.numel, classes, ignore) == 0) return;
    std::int64_t row = 0;
    while (count_bad(label_ + row, 1, classes, ignore) == 0) ++row;
    fail<IndexError>(op, ": label out of range: row ", row, ", label ", label_[row], ", classes ", classes,
                     ". Labels lie in [0, ", classes, ") or are ignore_index ", ignore);
  }
  std::int64_t operator[](std::int64_t row) const { return label_[row]; }

 private:
  static std::int64_t count_bad(const std::int64_t* label, std::int64_t n, std::int64_t classes, std::int64_t ignore) {
    std::int64_t bad = 0;
#pragma omp simd reduction(+ : bad)
    for (std::int64_t i = 0; i < n; ++i) bad += (label[i] < 0 || label[i] >= classes) && label[i] != ignore;
    return bad;
  }
  Dense dense_;
  const std::int64_t* label_;
};

constexpr std::int64_t kLanes = 16;  // of the widest vector of floats

/// The end of a row, filled up to a whole vector, so that short rows (ten classes) are computed
/// side by side too.
template <class A>
struct Tail {
  alignas(64) A v[kLanes];
  Tail(const A* x, std::int64_t n, A filling) {
    for (std::int64_t i = 0; i < kLanes; ++i) v[i] = i < n ? x[i] : filling;
  }
};
template <class A>
constexpr A kNegativeInfinity = -std::numeric_limits<A>::infinity();

template <class A>
A max_row(const A* x, std::int64_t n) {
  A m = kNegativeInfinity<A>;
#pragma omp simd reduction(max : m)
  for (std::int64_t i = 0; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m;
}
template <class A>
A sum_exp_row(const A* x, A m, std::int64_t n) {
  const std::int64_t whole = std::is_same_v<A, float> ? n / kLanes * kLanes : n;
  A s = 0;
#pragma omp simd reduction(+ : s)
  for (std::int64_t i = 0; i < whole; ++i) s += math::exp(x[i] - m);
  if (whole == n) return s;
  const Tail<A> rest(x + whole, n - whole, kNegativeInfinity<A>);
#pragma omp simd reduction(+ : s)
  for (std::int64_t i = 0; i < kLanes; ++i) s += math::exp(rest.v[i] - m);
  return s;
}
template <class A>
A sum_row(const A* x, std::int64_t n) {
  A s = 0;
#pragma omp simd reduction(+ : s)
  for (std::int64_t i = 0; i < n; ++i) s += x[i];
  return s;
}
/// dx = (e^(x - lse) - spread) scale
template <class A>
void softmax_less_row(const A* x, A lse, A spread, A scale, A* dx, std::int64_t n) {
  const std::int64_t whole = std::is_same_v<A, float> ? n / kLanes * kLanes : n;
#pragma omp simd
  for (std::int64_t i = 0; i < whole; ++i) dx[i] = (math::exp(x[i] - lse) - spread) * scale;
  if (whole == n) return;
  Tail<A> rest(x + whole, n - whole, 0);
#pragma omp simd
  for (std::int64_t i = 0; i < kLanes; ++i) rest.v[i] = (math::exp(rest.v[i] - lse) - spread) * scale;
  std::copy_n(rest.v, n - whole, dx + whole);
}

template <class A>
A log_sum_exp(const A* x, std::int64_t n, A& centre) {
  const A m = max_row(x, n);
  centre = m > kNegativeInfinity<A> ? m : A(0);  // all -inf: the sum is 0, its logarithm -inf
  return math::log(sum_exp_row(x, centre, n));
}

/// The loss of one row, and its log-sum-exp. A NaN that the maximum passes over comes back in the
/// sum.
template <class A>
double loss_row(const A* x, std::int64_t label, double e, std::int64_t c, A& lse) {
  A centre, ln;
  if (std::is_same_v<A, float> && c < kLanes) {
    const Tail<A> padded(x, c, kNegativeInfinity<A>);
    ln = log_sum_exp(padded.v, kLanes, centre);
  } else {
    ln = log_sum_exp(x, c, centre);
  }
  lse = centre + ln;
  if (label < 0) return 0;
  const double at_label = static_cast<double>(centre - x[label]) + ln;
  if (e == 0) return at_label;
  const double over_all = static_cast<double>(c) * lse - sum_row(x, c);
  return (1 - e) * at_label + e / static_cast<double>(c) * over_all;
}

/// Position in memory of the first class of row `row`, where v is [n, c, d...].
std::int64_t row_offset(const View& v, std::int64_t row) {
  std::int64_t at = 0;
  for (int d = v.rank() - 1; d >= 0; --d) {
    if (d == 1) continue;
    at += row % v.shape[d] * v.strides[d];
    row /= v.shape[d];
  }
  return at;
}

}  // namespace

void cross_entropy(const Exec& exec,
                   const View& logits,
                   const View& labels,
                   const View& sum,
                   const View& count,
                   const View& lse,
                   const LabelOptions& options) {
  const std::int64_t rows = labels.numel, c = logits.shape[1], ignore = options.ignore_index;
  const Labels label(exec, "cross_entropy", labels, c, ignore);
  visit_floating(logits.dtype, [&]<class T>() {
    const Dense xs = Dense::read(exec, class_last(logits), logits.dtype, Layout::row_major);
    const Dense lses(lse, dtype_of<Acc<T>>(), Layout::row_major);
    const double total = ordered_sum(rows, rows_per_piece(c), [&](std::int64_t begin, std::int64_t end) {
      auto buffer = row_buffer<T>(c);
      double s = 0;
      for (std::int64_t r = begin; r < end; ++r)
        s += loss_row(widen(xs.as<T>() + r * c, buffer.data(), c), label[r] == ignore ? -1 : label[r],
                      options.smoothing, c, lses.as<Acc<T>>()[r]);
      return s;
    });
    lses.write(exec);
    write_number(sum, total);
  });
  std::int64_t counted = 0;
  for (std::int64_t r = 0; r < rows; ++r) counted += label[r] != ignore;
  write_number(count, static_cast<double>(counted));
}

void cross_entropy_grad(const Exec& exec,
                        const View& logits,
                        const View& labels,
                        const View& lse,
                        const View& dsum,
                        const View& dlogits,
                        const LabelOptions& options) {
  const std::int64_t rows = labels.numel, c = logits.shape[1], ignore = options.ignore_index;
  const Labels label(exec, "cross_entropy_grad", labels, c, ignore);
  const double e = options.smoothing;
  visit_floating(logits.dtype, [&]<class T>() {
    using A = Acc<T>;
    const Dense xs = Dense::read(exec, class_last(logits), logits.dtype, Layout::row_major);
    const Dense lses = Dense::read(exec, lse, dtype_of<A>(), Layout::row_major);
    const Dense out(class_last(dlogits), logits.dtype, Layout::row_major);
    const A scale = static_cast<A>(read_number(dsum)), spread = c ? static_cast<A>(e / static_cast<double>(c)) : A(0);
    parallel_for(rows, rows_per_piece(c), [&](std::int64_t begin, std::int64_t end) {
      auto in_row = row_buffer<T>(c), out_row = row_buffer<T>(c);
      for (std::int64_t r = begin; r < end; ++r) {
        T* const dx = out.as<T>() + r * c;
        if (label[r] == ignore) {
          std::fill_n(dx, c, T(0));
          continue;
        }
        A* const wide = wide_row(dx, out_row.data());
        softmax_less_row(widen(xs.as<T>() + r * c, in_row.data(), c), lses.as<A>()[r], spread, scale, wide, c);
        wide[label[r]] -= static_cast<A>(1 - e) * scale;
        narrow(wide, dx, c);
      }
    });
    out.write(exec);
  });
}

void nll(const Exec& exec, const View& x, const View& labels, const View& sum, const View& count, std::int64_t ignore) {
  const Labels label(exec, "nll", labels, x.shape[1], ignore);
  visit_floating(x.dtype, [&]<class T>() {
    write_number(sum, ordered_sum(labels.numel, kWideGrain, [&](std::int64_t begin, std::int64_t end) {
                   double s = 0;
                   for (std::int64_t r = begin; r < end; ++r)
                     if (label[r] != ignore)
                       s -= convert<double>(x.as<T>()[row_offset(x, r) + label[r] * x.strides[1]]);
                   return s;
                 }));
  });
  std::int64_t counted = 0;
  for (std::int64_t r = 0; r < labels.numel; ++r) counted += label[r] != ignore;
  write_number(count, static_cast<double>(counted));
}

void nll_grad(const Exec& exec, const View& labels, const View& dsum, const View& dx, std::int64_t ignore) {
  const Labels label(exec, "nll_grad", labels, dx.shape[1], ignore);
  fill(exec, dx, 0);
  visit_floating(dx.dtype, [&]<class T>() {
    const T value = convert<T>(-read_number(dsum));
    for (std::int64_t r = 0; r < labels.numel; ++r)
      if (label[r] != ignore) dx.as<T>()[row_offset(dx, r) + label[r] * dx.strides[1]] = value;
  });
}

}  // namespace reel::kernels
