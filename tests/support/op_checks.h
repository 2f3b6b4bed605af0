#pragma once
// What every op must pass. Each check returns what it found wrong, one line a fault, so that the
// checks can themselves be tested with planted faults.
#include <string>
#include <vector>

#include "reel/tests/support/samples.h"

namespace reel::test {

using Faults = std::vector<std::string>;

/// Unit roundoff: half the spacing of numbers near 1.
double roundoff(DType t);

/// Outputs against the reference on inputs rounded to `dtype`, under an allocator that poisons new
/// memory and keeps guard bytes: a place that was not written shows as NaN, a write outside as a
/// damaged guard.
Faults check_values(const Sample& s, DType dtype);

/// The same with each input transposed in memory, cut from a larger tensor, at an odd offset,
/// channels-last, and repeated by a stride of 0.
Faults check_layouts(const Sample& s, DType dtype);

/// Gradients of sum(w * output 0) in f64 against central differences with Richardson's
/// extrapolation. Inputs are no leaves, so that what `saves()` forgets is not there.
Faults check_gradients(const Sample& s);

/// Gradients in f32, f16 or bf16 against those in f64.
Faults check_gradients_narrow(const Sample& s, DType dtype);

/// The second derivative, where there is one, by central differences of the first; else a
/// GradError.
Faults check_second_gradients(const Sample& s);

/// A description, a name, a finite cost.
Faults check_description(const Sample& s);

}  // namespace reel::test
