#pragma once
// Loss and accuracy over the epochs, as a picture that a browser shows in its light or dark
// colours.
#include <string>

#include "reel/examples/train/progress.h"

namespace reel::train {

/// A whole SVG file: loss on the left (of each step, and of each epoch for training and test
/// images), accuracy on the right. `steps_per_epoch` puts the steps on the axis of the epochs.
std::string curves_svg(const Progress& progress, const std::string& title, double steps_per_epoch);

/// Round numbers that are easy to read, from at or below `low` to at or above `high`: at least two.
std::vector<double> nice_ticks(double low, double high, int about);

}  // namespace reel::train
