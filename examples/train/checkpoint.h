#pragma once
// One file with all that a run needs to go on: tensors by name, and texts of JSON beside them.
#include <string>

#include "reel/data/dataset.h"
#include "reel/data/loader.h"
#include "reel/examples/train/progress.h"
#include "reel/examples/train/settings.h"

namespace reel::train {

/// What tells one data set from another.
struct Fingerprint {
  std::string name;
  std::int64_t images = 0, tests = 0, classes = 0;
  std::string sha256;  ///< of shapes, all labels, and up to 1 MiB of the pixels of both parts
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};
Fingerprint fingerprint_of(const data::Dataset& train, const data::Dataset& test);

struct Checkpoint {
  Settings settings;
  Fingerprint data;
  Progress progress;
  data::LoaderState loader;
  std::uint64_t random_seed = 0, random_position = 0;  ///< of the model's stream
  State model, optimizer, ema, plateau;                ///< the last two may be empty
};

/// Writes the file atomically. Throws IoError.
void save(const Checkpoint& checkpoint, const std::string& path);

/// Throws IoError, and DataError when the file is damaged, of another program, or of another
/// version of the format.
Checkpoint load(const std::string& path);

}  // namespace reel::train
