// Batched products over any strides: brings each operand into a form that gemm takes, and cuts the work.
#include <array>
#include <cmath>

#include "reel/core/parallel.h"
#include "reel/kernels/gemm.h"
#include "reel/kernels/pointwise.h"

namespace reel::kernels {
namespace {

constexpr double kChunkFlops = 8e6;  // about a tenth of a millisecond on one core
constexpr std::int64_t kMostChunks = 32;

/// A stack of matrices that gemm can read: stored row by row, or column by column (`transposed`).
struct Operand {
  const std::byte* data;
  std::int64_t ld = 1;
  bool transposed = false;
  std::int64_t batch_rank;
  std::array<std::int64_t, kMaxRank> batch_step{};
  Tensor copy;  // keeps a converted or gathered copy alive
};

/// `t`: the user asked for the transposition, so the stored matrix is [cols, rows].
Operand prepare(const Exec& exec, const View& v, bool t, DType compute) {
  View m = v;
  Operand o;
  const int r = v.rank();
  const auto readable = [&] {
    const std::int64_t rows = m.shape[r - 2], cols = m.shape[r - 1];
    const bool by_row = (m.strides[r - 1] == 1 || cols <= 1) && (m.strides[r - 2] >= cols || rows <= 1);
    const bool by_column = (m.strides[r - 2] == 1 || rows <= 1) && (m.strides[r - 1] >= rows || cols <= 1);
    o.transposed = !by_row && by_column;
    return by_row || by_column;
  };
  if (m.dtype != compute || !readable()) {
    o.copy = Tensor::empty(Meta(v.shape, compute, Layout::row_major, exec.device));
    copy(exec, v, o.copy);
    m = View(o.copy);
    o.transposed = false;
  }
  o.data = m.data;
  const std::int64_t rows = m.shape[r - 2], cols = m.shape[r - 1];
  // A single row or column may carry any stride; libraries want at least the width.
  o.ld = o.transposed ? (cols <= 1 ? rows : m.strides[r - 1]) : (rows <= 1 ? cols : m.strides[r - 2]);
  o.ld = std::max<std::int64_t>(o.ld, 1);
  o.transposed = o.transposed != t;
  o.batch_rank = r - 2;
  for (int d = 0; d < r - 2; ++d) o.batch_step[d] = m.shape[d] == 1 ? 0 : m.strides[d];
  return o;
}

/// Position of matrix `index` of the batch of c, in elements of this operand.
std::int64_t offset_of(const Operand& o, const Shape& c_shape, std::int64_t index) {
  std::int64_t at = 0;
  const int batch = c_shape.rank() - 2;
  for (int d = batch - 1; d >= 0; --d) {
    const std::int64_t e = d - (batch - o.batch_rank);
    if (e >= 0) at += (index % c_shape[d]) * o.batch_step[e];
    index /= c_shape[d];
  }
  return at;
}

template <class T>
void run(const Operand& a, const Operand& b, const View& bias, const View& c, std::int64_t k) {
  const int r = c.rank();
  const std::int64_t m = c.shape[r - 2], n = c.shape[r - 1];
  const std::int64_t batch = m * n == 0 ? 0 : c.numel / (m * n);
  const auto* bias_row = bias.as<const T>();
  const auto piece = [&](std::int64_t index, std::int64_t m0, std::int64_t m1, std::int64_t n0, std::int64_t n1) {
    T* out = c.as<T>() + index * m * n + m0 * n + n0;
    if (bias_row)
      for (std::int64_t i = 0; i < m1 - m0; ++i) std::copy(bias_row + n0, bias_row + n1, out + i * n);
    const T* pa = reinterpret_cast<const T*>(a.data) + offset_of(a, c.shape, index) + m0 * (a.transposed ? 1 : a.ld);
    const T* pb = reinterpret_cast<const T*>(b.data) + offset_of(b, c.shape, index) + n0 * (b.transposed ? b.ld : 1);
    gemm({a.transposed, b.transposed, m1 - m0, n1 - n0, k, a.ld, b.ld, n, bias_row != nullptr}, pa, pb, out);
  };
  // Pieces are chosen by the sizes alone, never by the number of threads.
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const auto most = [](double work) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(work / kChunkFlops), 1, kMostChunks);
  };
  if (batch > 1) {
    const std::int64_t chunks = std::min(batch, most(flops * static_cast<double>(batch)));
    parallel_for(batch, (batch + chunks - 1) / chunks, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) piece(i, 0, m, 0, n);
    });
  } else if (batch == 1 && m >= n) {
    const std::int64_t grain = (m / most(flops) + 15) / 16 * 16;
    parallel_for(m, std::max<std::int64_t>(grain, 16),
                 [&](std::int64_t begin, std::int64_t end) { piece(0, begin, end, 0, n); });
  } else if (batch == 1) {
    const std::int64_t grain = (n / most(flops) + 63) / 64 * 64;
    parallel_for(n, std::max<std::int64_t>(grain, 64),
                 [&](std::int64_t begin, std::int64_t end) { piece(0, 0, m, begin, end); });
  }
}

/// A batch of a with one matrix b is one tall product: [batch, m, k] is [batch * m, k].
void fold_batch(View& a, bool ta, const View& b, View& c) {
  if (ta || a.rank() <= 2 || b.rank() != 2 || !a.contiguous() || a.numel == 0) return;
  const std::int64_t k = a.shape.back(), n = c.shape.back();
  a.shape = {a.numel / std::max<std::int64_t>(k, 1), k};
  a.strides = {k, 1};
  c.shape = {a.shape[0], n};
  c.strides = {n, 1};
}

}  // namespace

void matmul(
    const Exec& exec, const View& a_in, bool ta, const View& b, bool tb, const View& bias_in, const View& c_in) {
  if (c_in.numel == 0) return;
  View a = a_in, c = c_in, bias = bias_in;
  fold_batch(a, ta, b, c);
  const DType compute = c.dtype == DType::f64 ? DType::f64 : DType::f32;
  const std::int64_t k = a.shape[a.rank() - (ta ? 2 : 1)];
  Tensor wide, wide_bias;
  if (c.dtype != compute) {
    wide = Tensor::empty(Meta(c.shape, compute, Layout::row_major, exec.device));
    if (bias.data) {
      wide_bias = Tensor::empty(Meta(bias.shape, compute, Layout::row_major, exec.device));
      copy(exec, bias, wide_bias);
      bias = View(wide_bias);
    }
  }
  const View target = wide ? View(wide) : c;
  const Operand x = prepare(exec, a, ta, compute), y = prepare(exec, b, tb, compute);
  if (compute == DType::f64)
    run<double>(x, y, bias, target, k);
  else
    run<float>(x, y, bias, target, k);
  if (wide) copy(exec, wide, c);
}

}  // namespace reel::kernels
