// Products on one thread: plain loops while everything fits a cache line or two, else a library.
#include "reel/kernels/gemm.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "reel/kernels/cpu/onednn_impl.h"
#ifdef REEL_WITH_ONEDNN
#include <dnnl.h>
#endif
#ifdef REEL_WITH_EIGEN
#include <Eigen/Core>
#endif

namespace reel::kernels {
namespace {

// Below this many multiplications a call of a library costs more than the product.
constexpr std::int64_t kTiny = 16 * 1024;
constexpr std::int64_t kPackedOnStack = 1024;

bool tiny(std::int64_t m, std::int64_t n, std::int64_t k) {
  return m * n * k <= kTiny;
}

/// c[0..n) += s * b[0..n)
template <class T>
inline void axpy(std::int64_t n, T s, const T* b, T* c) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) c[j] += s * b[j];
}

/// b is [k, n] here; the innermost loop runs along a row of c.
template <class T>
void rows_loop(const Gemm& g, const T* a, const T* b, std::int64_t ldb, T* c) {
  for (std::int64_t i = 0; i < g.m; ++i) {
    T* row = c + i * g.ldc;
    if (!g.accumulate) std::fill_n(row, g.n, T{});
    for (std::int64_t l = 0; l < g.k; ++l) axpy(g.n, g.ta ? a[l * g.lda + i] : a[i * g.lda + l], b + l * ldb, row);
  }
}

template <class T>
void gemm_loop(const Gemm& g, const T* a, const T* b, T* c) {
  if (!g.tb) return rows_loop(g, a, b, g.ldb, c);
  if (g.k * g.n <= kPackedOnStack) {
    T packed[kPackedOnStack];
    for (std::int64_t j = 0; j < g.n; ++j)
      for (std::int64_t l = 0; l < g.k; ++l) packed[l * g.n + j] = b[j * g.ldb + l];
    return rows_loop(g, a, packed, g.n, c);
  }
  for (std::int64_t i = 0; i < g.m; ++i) {
    for (std::int64_t j = 0; j < g.n; ++j) {
      T s{};
      if (g.ta) {
        for (std::int64_t l = 0; l < g.k; ++l) s += a[l * g.lda + i] * b[j * g.ldb + l];
      } else {
        const T *x = a + i * g.lda, *y = b + j * g.ldb;
#pragma omp simd reduction(+ : s)
        for (std::int64_t l = 0; l < g.k; ++l) s += x[l] * y[l];
      }
      T& out = c[i * g.ldc + j];
      out = g.accumulate ? out + s : s;
    }
  }
}

#ifdef REEL_WITH_EIGEN
template <class T>
void gemm_eigen(const Gemm& g, const T* a, const T* b, T* c) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Stride = Eigen::OuterStride<>;
  using In = Eigen::Map<const Matrix, 0, Stride>;
  const In ma(a, g.ta ? g.k : g.m, g.ta ? g.m : g.k, Stride(g.lda)),
      mb(b, g.tb ? g.n : g.k, g.tb ? g.k : g.n, Stride(g.ldb));
  Eigen::Map<Matrix, 0, Stride> mc(c, g.m, g.n, Stride(g.ldc));
  const auto run = [&](const auto& x, const auto& y) {
    if (g.accumulate)
      mc.noalias() += x * y;
    else
      mc.noalias() = x * y;
  };
  if (g.ta && g.tb)
    run(ma.transpose(), mb.transpose());
  else if (g.ta)
    run(ma.transpose(), mb);
  else if (g.tb)
    run(ma, mb.transpose());
  else
    run(ma, mb);
}
#endif

template <class T>
void gemm_any(const Gemm& g, const T* a, const T* b, T* c) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0) {
    if (!g.accumulate)
      for (std::int64_t i = 0; i < g.m; ++i) std::fill_n(c + i * g.ldc, g.n, T{});
    return;
  }
  if (tiny(g.m, g.n, g.k)) return gemm_loop(g, a, b, c);
#ifdef REEL_WITH_ONEDNN
  if constexpr (std::is_same_v<T, float>) {
    [[maybe_unused]] const OneThread one;
    const dnnl_status_t status = dnnl_sgemm(g.ta ? 'T' : 'N', g.tb ? 'T' : 'N', g.m, g.n, g.k, 1.0f, a, g.lda, b, g.ldb,
                                            g.accumulate ? 1.0f : 0.0f, c, g.ldc);
    check<Error>(status == dnnl_success, "matmul: oneDNN refused a product of m ", g.m, ", n ", g.n, ", k ", g.k,
                 " with status ", static_cast<int>(status));
    return;
  }
#endif
#ifdef REEL_WITH_EIGEN
  gemm_eigen(g, a, b, c);
#else
  gemm_loop(g, a, b, c);
#endif
}

}  // namespace

void gemm(const Gemm& g, const float* a, const float* b, float* c) {
  gemm_any(g, a, b, c);
}
void gemm(const Gemm& g, const double* a, const double* b, double* c) {
  gemm_any(g, a, b, c);
}

const char* gemm_backend([[maybe_unused]] DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  if (tiny(m, n, k)) return "loop";
#ifdef REEL_WITH_ONEDNN
  if (dtype != DType::f64) return "onednn";
#endif
#ifdef REEL_WITH_EIGEN
  return "eigen";
#else
  return "loop";
#endif
}

}  // namespace reel::kernels
