#pragma once
// The training loop. It prints nothing and writes no file: an observer is told what happens.
#include <memory>
#include <optional>

#include "reel/data/loader.h"
#include "reel/examples/train/checkpoint.h"
#include "reel/examples/train/setup.h"
#include "reel/optim/ema.h"

namespace reel::train {

/// One optimizer step, as the log has it.
struct StepRecord {
  std::int64_t epoch, step;  ///< from 1
  Sums window;               ///< of its micro-batches
  double lr, gradient_norm;
  optim::Step outcome;
};

/// Told what happens, between two micro-batches.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Asked after each micro-batch and between the batches of a test: whether to stop here.
  virtual bool stop() = 0;
  virtual void on_micro_batch() = 0;
  virtual void on_step(const StepRecord& record) = 0;
  /// The weights were tested; progress().history ends with this epoch.
  virtual void on_epoch() = 0;
};

struct Evaluation {
  double loss, accuracy;
};

/// Trains one model. Its state can be taken between any two micro-batches.
class Trainer {
 public:
  /// Throws ValueError for settings that do not suit the data.
  Trainer(const Settings& settings, const Data& data);

  /// Goes on where the checkpoint was taken. Throws ValueError and DataError for one that does not
  /// fit.
  void restore(const Checkpoint& c);
  Checkpoint checkpoint() const;

  /// Trains to the end of the last epoch, or until `most_steps` optimizer steps were done in all,
  /// or until the observer says so: then false.
  bool run(Observer& observer, std::int64_t most_steps);

  /// Loss and accuracy on the test images, by the averaged weights where there are some; nothing
  /// when the observer says stop.
  std::optional<Evaluation> evaluate(Observer& observer);
  /// Whether weights have not changed since the last epoch was tested.
  bool tested() const { return progress_.epochs > 0 && progress_.epoch.images == 0; }

  const Settings& settings() const { return settings_; }
  const Progress& progress() const { return progress_; }
  const nn::Sequential& model() const { return model_; }
  const data::Dataset& images() const { return loader_.dataset(); }
  const Fingerprint& fingerprint() const { return fingerprint_; }
  std::int64_t steps() const { return steps_; }  ///< in all epochs
  double steps_per_epoch() const { return static_cast<double>(steps_) / static_cast<double>(settings_.epochs); }

 private:
  bool epoch_is_over() const { return loader_.state().epoch > progress_.epochs; }
  void train_micro_batch(Observer& observer);
  void count(const Sums& sums);
  void end_window(optim::Step outcome, double lr, Observer& observer);
  bool end_epoch(Observer& observer);

  Settings settings_;
  data::Dataset test_;
  data::Loader loader_;
  Fingerprint fingerprint_;
  nn::Random random_;
  nn::Sequential model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  optim::Plateau plateau_;
  std::unique_ptr<optim::Ema> ema_;  // null: off
  std::int64_t steps_;
  Progress progress_;
};

}  // namespace reel::train
