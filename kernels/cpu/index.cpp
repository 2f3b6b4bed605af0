// Indexing on the CPU. Whole slices are copied or added row by row; additions are sorted by their
// target first (a counting sort), so that each target is owned by one thread and the order is
// fixed.
#include "reel/kernels/index.h"

#include "reel/core/parallel.h"
#include "reel/kernels/cpu/wide_row_impl.h"

namespace reel::kernels {
namespace {

/// The indices in row-major order, all in [0, size).
class Indices {
 public:
  Indices(const Exec& exec, std::string_view op, const View& v, std::int64_t size)
      : dense_(Dense::read(exec, v, DType::i64, Layout::row_major)), index_(dense_.as<std::int64_t>()) {
    if (count_bad(index_, v.numel, size) == 0) return;
    std::int64_t at = 0;
    while (count_bad(index_ + at, 1, size) == 0) ++at;
    Dims position = Dims::filled(v.rank(), 0);
    std::int64_t rest = at;
    for (int d = v.rank() - 1; d >= 0; --d) {
      position[d] = rest % v.shape[d];
      rest /= v.shape[d];
    }
    fail<IndexError>(op, ": index out of range: index ", index_[at], " at position ", position, ", size ", size,
                     ". Indices lie in [0, ", size, ")");
  }
  const std::int64_t* data() const { return index_; }
  std::int64_t operator[](std::int64_t i) const { return index_[i]; }

 private:
  static std::int64_t count_bad(const std::int64_t* index, std::int64_t n, std::int64_t size) {
    std::int64_t bad = 0;
#pragma omp simd reduction(+ : bad)
    for (std::int64_t i = 0; i < n; ++i) bad += index[i] < 0 || index[i] >= size;
    return bad;
  }
  Dense dense_;
  const std::int64_t* index_;
};

/// A shape cut at `dim`: outer slices, n rows in each, inner elements in a row.
struct Cut {
  std::int64_t outer = 1, n, inner = 1;
  Cut(const Shape& s, int dim) : n(s[dim]) {
    for (int d = 0; d < dim; ++d) outer *= s[d];
    for (int d = dim + 1; d < s.rank(); ++d) inner *= s[d];
  }
};

template <class A, class T>
void add_row(const T* y, A* out, std::int64_t n) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<A>(out[i] + convert<A>(y[i]));
}

/// For each of n targets, the positions that name it, in their order.
struct Buckets {
  std::vector<std::int64_t> first, position;
  Buckets(const Indices& index, std::int64_t k, std::int64_t n)
      : first(static_cast<std::size_t>(n + 1)), position(static_cast<std::size_t>(k)) {
    for (std::int64_t j = 0; j < k; ++j) ++first[static_cast<std::size_t>(index[j] + 1)];
    for (std::size_t r = 1; r < first.size(); ++r) first[r] += first[r - 1];
    auto next = first;
    for (std::int64_t j = 0; j < k; ++j)
      position[static_cast<std::size_t>(next[static_cast<std::size_t>(index[j])]++)] = j;
  }
  std::span<const std::int64_t> of(std::int64_t row) const {
    const auto r = static_cast<std::size_t>(row);
    return std::span(position).subspan(static_cast<std::size_t>(first[r]),
                                       static_cast<std::size_t>(first[r + 1] - first[r]));
  }
};

/// Where the operands are, for place `line` among all places of `shape` less one dimension.
template <std::size_t N>
std::array<std::int64_t, N> offsets(std::int64_t line,
                                    const Shape& shape,
                                    int without,
                                    const std::array<const Strides*, N>& strides) {
  std::array<std::int64_t, N> at{};
  for (int d = shape.rank() - 1; d >= 0; --d) {
    if (d == without) continue;
    const std::int64_t i = line % shape[d];
    line /= shape[d];
    for (std::size_t k = 0; k < N; ++k) at[k] += i * (*strides[k])[d];
  }
  return at;
}

}  // namespace

void index_select(const Exec& exec, std::string_view op, const View& x, int dim, const View& indices, const View& y) {
  const Cut cut(x.shape, dim);
  const Indices index(exec, op, indices, cut.n);
  const Dense xs = Dense::read(exec, x, x.dtype, Layout::row_major), out(y, x.dtype, Layout::row_major);
  const std::int64_t k = indices.numel, inner = cut.inner;
  visit(x.dtype, [&]<class T>() {
    const T* const from = xs.as<T>();
    T* const to = out.as<T>();
    parallel_for(cut.outer * k, rows_per_piece(inner), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r)
        std::copy_n(from + (r / k * cut.n + index[r % k]) * inner, inner, to + r * inner);
    });
  });
  out.write(exec);
}

void index_add(const Exec& exec,
               std::string_view op,
               const View& x,
               int dim,
               const View& indices,
               const View& y,
               const View& out) {
  const Cut cut(out.shape, dim);
  const Indices index(exec, op, indices, cut.n);
  const std::int64_t k = indices.numel, inner = cut.inner;
  const Buckets uses(index, k, cut.n);
  visit(out.dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      const Optional<T> base(exec, x);
      const Dense ys = Dense::read(exec, y, y.dtype, Layout::row_major), sums(out, out.dtype, Layout::row_major);
      parallel_for(cut.outer * cut.n, rows_per_piece(inner), [&](std::int64_t begin, std::int64_t end) {
        auto buffer = row_buffer<T>(inner);
        for (std::int64_t r = begin; r < end; ++r) {
          T* const to = sums.as<T>() + r * inner;
          const std::int64_t o = r / cut.n;
          const auto positions = uses.of(r % cut.n);
          if (base.data())
            std::copy_n(base.data() + r * inner, inner, to);
          else
            std::fill_n(to, inner, T{});
          if (positions.empty()) continue;
          Acc<T>* const wide = wide_row(to, buffer.data());
          widen(to, wide, inner);
          for (const std::int64_t j : positions) add_row(ys.as<T>() + (o * k + j) * inner, wide, inner);
          narrow(wide, to, inner);
        }
      });
      sums.write(exec);
    } else {
      fail<DTypeError>(op, ": no kernel for bool");
    }
  });
}

void gather(const Exec& exec, std::string_view op, const View& x, int dim, const View& indices, const View& y) {
  const Indices index(exec, op, indices, x.shape[dim]);
  const Dense out(y, x.dtype, Layout::row_major);
  const int last = x.rank() - 1;
  const std::int64_t n = indices.shape[last], rows = n ? indices.numel / n : 0;
  const std::int64_t along = x.strides[dim], step = dim == last ? 0 : x.strides[last];
  Strides strides = x.strides;
  strides[dim] = 0;  // the coordinate along dim comes from the index
  visit(x.dtype, [&]<class T>() {
    parallel_for(rows, rows_per_piece(n), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const T* const from = x.as<T>() + offsets<1>(r, indices.shape, last, {&strides})[0];
        const std::int64_t* const at = index.data() + r * n;
        T* const to = out.as<T>() + r * n;
        for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step + at[i] * along];
      }
    });
  });
  out.write(exec);
}

void scatter_add(const Exec& exec,
                 std::string_view op,
                 const View& x,
                 int dim,
                 const View& indices,
                 const View& y,
                 const View& out) {
  const Indices index(exec, op, indices, x.shape[dim]);
  copy(exec, x, out);
  // Elements meet only within a line along dim: a line is the work of one thread.
  const std::int64_t k = indices.shape[dim], lines = k ? indices.numel / k : 0, n = x.shape[dim];
  const Strides index_strides = row_major(indices.shape);
  const std::int64_t so = out.strides[dim], sy = y.strides[dim], si = index_strides[dim];
  visit(out.dtype, [&]<class T>() {
    parallel_for(lines, rows_per_piece(k), [&](std::int64_t begin, std::int64_t end) {
      auto buffer = row_buffer<T>(n);
      for (std::int64_t line = begin; line < end; ++line) {
        const auto at = offsets<3>(line, indices.shape, dim, {&out.strides, &y.strides, &index_strides});
        T* const to = out.as<T>() + at[0];
        const T* const from = y.as<T>() + at[1];
        const std::int64_t* const i = index.data() + at[2];
        if constexpr (is_wide<T>) {
          for (std::int64_t j = 0; j < k; ++j) to[i[j * si] * so] = static_cast<T>(to[i[j * si] * so] + from[j * sy]);
        } else {
          for (std::int64_t r = 0; r < n; ++r) buffer[static_cast<std::size_t>(r)] = convert<Acc<T>>(to[r * so]);
          for (std::int64_t j = 0; j < k; ++j)
            buffer[static_cast<std::size_t>(i[j * si])] += convert<Acc<T>>(from[j * sy]);
          for (std::int64_t r = 0; r < n; ++r) to[r * so] = convert<T>(buffer[static_cast<std::size_t>(r)]);
        }
      }
    });
  });
}

}  // namespace reel::kernels
