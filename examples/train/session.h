#pragma once
// One run of the program: a trainer, and everything it shows and writes.
#include <chrono>

#include "reel/examples/train/command.h"
#include "reel/examples/train/display.h"
#include "reel/examples/train/journal.h"
#include "reel/examples/train/trainer.h"

namespace reel::train {

class Session final : public Observer {
 public:
  /// Reads the data and, for --resume, the checkpoint, then opens the folder. Whatever it throws,
  /// nothing of value was changed.
  Session(const Command& command, Display& display);

  /// Trains, and saves. Gives the exit code: 0, or 128 + the signal that stopped it.
  int run();
  /// The line of --json.
  nlohmann::ordered_json result() const;

  bool stop() override;
  void on_micro_batch() override;
  void on_step(const StepRecord& record) override;
  void on_epoch() override;

 private:
  static std::unique_ptr<Trainer> prepare(const Command& command);
  std::string file(const char* name) const { return folder_ + "/" + name; }
  void open();
  void introduce();
  void log_start();
  void save();
  void draw_curves() const;
  int stopped(int signal);
  void summarize();
  double seconds_left() const;

  Command command_;
  Display& display_;
  std::unique_ptr<Trainer> trainer_;
  std::string folder_;
  std::unique_ptr<Journal> journal_;
  Evaluation final_{};
  std::int64_t most_steps_, first_step_;
  std::pair<std::int64_t, double> saved_{-1, -1};  ///< epochs and images at the last save
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace reel::train
