#pragma once
// From settings to the parts of a training run.
#include <memory>
#include <string>

#include "reel/data/dataset.h"
#include "reel/examples/train/settings.h"
#include "reel/nn/sequential.h"
#include "reel/optim/optimizer.h"
#include "reel/optim/schedule.h"

namespace reel::train {

struct Data {
  data::Dataset train, test;
};
/// Reads both parts. Throws IoError and DataError, and DataError where the parts do not fit
/// together.
Data load_data(const std::string& name, const std::string& dir);

/// For the images of `d`. Throws ValueError where the model cannot take them.
nn::Sequential make_model(const Settings& s, const data::Dataset& d, const nn::Random& random);

std::unique_ptr<optim::Optimizer> make_optimizer(const Settings& s, std::vector<Parameter> parameters);

/// Optimizer steps of `epochs` epochs with this many micro-batches each. Throws ValueError when
/// there are none, or fewer than the warm-up needs.
std::int64_t steps_of(const Settings& s, std::int64_t batches);

/// The learning rate's factor over `steps` steps; `plateau` is used by --schedule plateau alone.
optim::Schedule make_schedule(const Settings& s, std::int64_t steps, const optim::Plateau& plateau);

/// 64 hexadecimal digits: SHA-256 of the row-major bytes of all, in order of their names.
std::string sha256_of(const std::vector<Parameter>& parameters);

}  // namespace reel::train
