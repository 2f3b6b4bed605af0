#include "reel/core/version.h"

namespace reel {

const char* version() {
  return kVersion;
}

}  // namespace reel
