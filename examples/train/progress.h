#pragma once
// How far a run is, and what it has seen so far: the part of a checkpoint that is not a weight.
#include <cstdint>
#include <vector>

#include <nlohmann/json.hpp>

#include "reel/core/parameter.h"

namespace reel::train {

/// What adds up over micro-batches.
struct Sums {
  double loss = 0, count = 0;  ///< over labels
  double correct = 0, images = 0;
  double seconds = 0;

  Sums& operator+=(const Sums& s);
  double mean_loss() const;  ///< NaN without labels
  double accuracy() const;   ///< NaN without images
  double rate() const;       ///< images per second, 0 without time
};

/// One finished epoch.
struct EpochRecord {
  double train_loss, train_accuracy, test_loss, test_accuracy;
  double lr;
  double seconds, images_per_second;  ///< of training
};

/// A curve of any length in bounded memory: neighbours are averaged when there are too many points.
class Series {
 public:
  struct Point {
    double x, y;
  };
  void add(double x, double y);
  const std::vector<Point>& points() const { return points_; }

  Tensor to_tensor() const;
  static Series from_tensor(const Tensor& t);  ///< throws DataError

 private:
  static constexpr std::size_t kMost = 400;

  double every_ = 1, waiting_ = 0;  // values a point stands for; values in sum_
  Point sum_{0, 0};
  std::vector<Point> points_;
};

struct Progress {
  std::int64_t epochs = 0;           ///< finished
  std::int64_t steps = 0;            ///< optimizer steps, with those that were skipped
  std::int64_t skipped = 0;          ///< because a gradient was not finite
  double lr = 0;                     ///< of the last step
  Sums window, epoch, total;         ///< of the step, the epoch and the run under way
  std::vector<EpochRecord> history;  ///< of the finished epochs
  Series curve;                      ///< training loss of each step, over the step
  std::int64_t log_bytes = 0;        ///< of log.jsonl up to here

  /// Index of the epoch with the highest test accuracy; -1 before the first one has ended.
  std::int64_t best() const;
  /// Mean training loss of the epoch under way, or of the last one where none is.
  double loss() const;
};

/// Whole numbers as JSON, all others as tensors, which keep every bit and NaN.
nlohmann::ordered_json counters_of(const Progress& p);
State numbers_of(const Progress& p);
/// Throws DataError for what the two above cannot have written.
Progress progress_from(const nlohmann::json& counters, const State& numbers);

}  // namespace reel::train
