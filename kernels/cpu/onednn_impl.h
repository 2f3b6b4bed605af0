#pragma once
// oneDNN is run on the calling thread alone: the engine's parallel_for cuts the work into pieces that do
// not depend on the number of threads, and so do the results. Debian builds oneDNN with OpenMP, whose
// thread count is a setting of the calling thread.
#ifdef REEL_WITH_ONEDNN
#ifdef _OPENMP
#include <omp.h>
#endif

namespace reel::kernels {

class OneThread {
 public:
#ifdef _OPENMP
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }

 private:
  int before_;
#endif
};

}  // namespace reel::kernels
#endif
