#pragma once
// The folder that a run leaves its results in.
#include <string>

#include "reel/examples/train/command.h"

namespace reel::train {

inline constexpr const char *kCheckpointFile = "checkpoint.safetensors", *kLogFile = "log.jsonl",
                            *kCurvesFile = "curves.svg";

/// The checkpoint to go on from. Only for --resume.
std::string checkpoint_path(const Command& c);
/// The folder that --out or --resume asks for; empty where the next free number is taken.
std::string asked_folder(const Command& c);

/// Throws ValueError when `folder` holds results that must not be touched, and IoError when nothing
/// can be written there. Changes nothing.
void require_free(const Command& c, const std::string& folder);

/// Makes the folder where it is absent, and gives its name: `folder`, or runs/DATA-MODEL-N with the
/// first free N where that is empty. Throws IoError.
std::string make_folder(const std::string& folder, const Settings& s);

/// Removes what killed runs left half-written and, with `results`, the results of an earlier run.
void clean(const std::string& folder, bool results);

}  // namespace reel::train
