#pragma once
// Matrix products.
#include "reel/kernels/view.h"

namespace reel::kernels {

/// c[m, n] (+)= op(a) op(b), op a transposition where asked: a is stored [m, k] or, transposed, [k, m];
/// b is [k, n] or [n, k]. Row-major with leading dimensions lda, ldb, ldc; f32 or f64; on the calling
/// thread alone, so that callers split the work and results do not depend on the number of threads.
struct Gemm {
  bool ta = false, tb = false;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  bool accumulate = false;
};
void gemm(const Gemm& g, const float* a, const float* b, float* c);
void gemm(const Gemm& g, const double* a, const double* b, double* c);

/// c = op(a) op(b) + bias over the last two dimensions; the leading ones of a and b broadcast to those
/// of c. `bias` [n] is added to each row unless its data is null. All of one floating dtype; half types
/// are computed in f32. c is row-major; a and b have any strides.
void matmul(const Exec& exec, const View& a, bool ta, const View& b, bool tb, const View& bias, const View& c);

/// Which library computes products of this size: "loop", "onednn" or "eigen".
const char* gemm_backend(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace reel::kernels
