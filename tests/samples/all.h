#pragma once
// Samples of every op, one file for each family.
#include "reel/tests/samples/binary.h"     // IWYU pragma: export
#include "reel/tests/samples/conv.h"       // IWYU pragma: export
#include "reel/tests/samples/index.h"      // IWYU pragma: export
#include "reel/tests/samples/loss.h"       // IWYU pragma: export
#include "reel/tests/samples/matmul.h"     // IWYU pragma: export
#include "reel/tests/samples/norm.h"       // IWYU pragma: export
#include "reel/tests/samples/pointwise.h"  // IWYU pragma: export
#include "reel/tests/samples/reduce.h"     // IWYU pragma: export
#include "reel/tests/samples/view.h"       // IWYU pragma: export
