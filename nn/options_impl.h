#pragma once
// The one wording of a wrong option of a layer.
#include "reel/core/error.h"

namespace reel::nn {

template <class V>
void require_at_least(const char* layer, const char* option, V value, V least) {
  check<ValueError>(value >= least, layer, ": ", option, " must be at least ", least, ", but is ", value);
}

}  // namespace reel::nn
