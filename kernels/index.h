#pragma once
// Reading and adding at given places. Indices are i64 or i32; every one is checked before anything
// is written, and IndexError names the op, the index, its position and the size. Values that meet
// at one place are added in the order of their positions, half types in float and rounded once.
#include <string_view>

#include "reel/kernels/view.h"

namespace reel::kernels {

/// x [a..., n, b...], k indices of any shape: y [a..., k, b...] (or k cut into several dimensions)
/// holds x[..., indices[j], ...] at j.
void index_select(const Exec&, std::string_view op, const View& x, int dim, const View& indices, const View& y);
/// out [a..., n, b...] = x with y[..., j, ...] added at indices[j]. An x without data stands for
/// zeros.
void index_add(
    const Exec&, std::string_view op, const View& x, int dim, const View& indices, const View& y, const View& out);
/// y[i, j, ...] = x[i, j, ...] with the coordinate `dim` replaced by indices[i, j, ...].
void gather(const Exec&, std::string_view op, const View& x, int dim, const View& indices, const View& y);
/// out = x with y[i, j, ...] added where `gather` would have read; y may be larger than the
/// indices.
void scatter_add(
    const Exec&, std::string_view op, const View& x, int dim, const View& indices, const View& y, const View& out);

}  // namespace reel::kernels
