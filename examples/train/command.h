#pragma once
// The command line of reel-train.
#include <optional>

#include "reel/examples/train/settings.h"

namespace reel::train {

enum class LogDetail { error, warning, info };

struct Command {
  Settings settings;
  std::set<std::string> given;  ///< settings that were named, without "--"

  // What does not change a number:
  std::string data_dir;
  std::int64_t steps = 0;  ///< 0: no bound
  std::optional<int> threads;
  std::string device = "cpu";
  std::string out;  ///< empty: the next free runs/DATA-MODEL-N, or the folder of the checkpoint
  bool resume = false;
  std::string resume_file;  ///< empty: the one in `out`
  bool overwrite = false;
  std::int64_t save_every = 0;  ///< steps; 0: at the end of each epoch alone
  bool json = false, quiet = false;
  LogDetail log_level = LogDetail::warning;
};

/// Reads the arguments into `command`. Gives an exit code where nothing is left to do: 0 after
/// --help and --version, which it prints. Throws ValueError, one line, for arguments that make no
/// sense.
std::optional<int> parse(int argc, const char* const* argv, Command& command);

}  // namespace reel::train
