#include "reel/examples/train/progress.h"

#include <cmath>
#include <limits>
#include <string>

namespace reel::train {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kSums = 5, kRecord = 7;

Tensor tensor_of(const Sums& s) {
  return Tensor::from({kSums}, std::vector<double>{s.loss, s.count, s.correct, s.images, s.seconds});
}

/// The values of an f64 tensor with rows of `width` numbers, or with `width` numbers in all.
std::vector<double> values(const State& state, const std::string& name, std::int64_t width, int rank) {
  const auto it = state.find(name);
  check<DataError>(it != state.end(), name, " is missing");
  const Tensor& t = it->second;
  check<DataError>(t.dtype() == DType::f64 && t.rank() == rank && t.size(-1) == width, name, " is ", name_of(t.dtype()),
                   " ", t.shape(), ", but f64 with ", width, " numbers in a row was expected");
  return t.to_vector<double>();
}

Sums sums_from(const State& state, const std::string& name) {
  const std::vector<double> v = values(state, name, kSums, 1);
  return {v[0], v[1], v[2], v[3], v[4]};
}

std::int64_t counter(const nlohmann::json& json, const char* name) {
  const auto it = json.find(name);
  check<DataError>(it != json.end() && it->is_number_unsigned() && it->get<std::uint64_t>() < 1ull << 62,
                   "the counter ", name, " is missing, or no whole number");
  return it->get<std::int64_t>();
}

}  // namespace

Sums& Sums::operator+=(const Sums& s) {
  loss += s.loss;
  count += s.count;
  correct += s.correct;
  images += s.images;
  seconds += s.seconds;
  return *this;
}

double Sums::mean_loss() const {
  return count > 0 ? loss / count : kNaN;
}

double Sums::accuracy() const {
  return images > 0 ? correct / images : kNaN;
}

double Sums::rate() const {
  return seconds > 0 ? images / seconds : 0;
}

void Series::add(double x, double y) {
  sum_.x += x;
  sum_.y += y;
  if (++waiting_ < every_) return;
  points_.push_back({sum_.x / waiting_, sum_.y / waiting_});
  sum_ = {0, 0};
  waiting_ = 0;
  if (points_.size() < kMost) return;
  for (std::size_t i = 0; i < kMost / 2; ++i) {
    const Point a = points_[2 * i], b = points_[2 * i + 1];
    points_[i] = {(a.x + b.x) / 2, (a.y + b.y) / 2};
  }
  points_.resize(kMost / 2);
  every_ *= 2;
}

// The first two rows hold what is not a point yet.
Tensor Series::to_tensor() const {
  std::vector<double> v = {every_, waiting_, sum_.x, sum_.y};
  for (const Point& p : points_) v.insert(v.end(), {p.x, p.y});
  return Tensor::from({static_cast<std::int64_t>(v.size() / 2), 2}, v);
}

Series Series::from_tensor(const Tensor& t) {
  const std::vector<double> v = values({{"the curve", t}}, "the curve", 2, 2);
  check<DataError>(v.size() >= 4 && v.size() < 2 * (kMost + 2) && v[0] >= 1 && v[1] >= 0 && v[1] < v[0],
                   "the curve is damaged");
  Series s;
  s.every_ = v[0];
  s.waiting_ = v[1];
  s.sum_ = {v[2], v[3]};
  for (std::size_t i = 4; i < v.size(); i += 2) s.points_.push_back({v[i], v[i + 1]});
  return s;
}

std::int64_t Progress::best() const {
  std::int64_t best = -1;
  for (std::size_t i = 0; i < history.size(); ++i)
    if (best < 0 || history[i].test_accuracy > history[static_cast<std::size_t>(best)].test_accuracy)
      best = static_cast<std::int64_t>(i);
  return best;
}

double Progress::loss() const {
  return epoch.count > 0 || history.empty() ? epoch.mean_loss() : history.back().train_loss;
}

nlohmann::ordered_json counters_of(const Progress& p) {
  return {{"epochs", p.epochs}, {"steps", p.steps}, {"skipped", p.skipped}, {"lr", p.lr}, {"log_bytes", p.log_bytes}};
}

State numbers_of(const Progress& p) {
  std::vector<double> records;
  for (const EpochRecord& r : p.history)
    records.insert(records.end(), {r.train_loss, r.train_accuracy, r.test_loss, r.test_accuracy, r.lr, r.seconds,
                                   r.images_per_second});
  return {{"window", tensor_of(p.window)},
          {"epoch", tensor_of(p.epoch)},
          {"total", tensor_of(p.total)},
          {"history", Tensor::from({static_cast<std::int64_t>(p.history.size()), kRecord}, records)},
          {"curve", p.curve.to_tensor()}};
}

Progress progress_from(const nlohmann::json& counters, const State& numbers) {
  Progress p;
  p.epochs = counter(counters, "epochs");
  p.steps = counter(counters, "steps");
  p.skipped = counter(counters, "skipped");
  p.log_bytes = counter(counters, "log_bytes");
  const auto lr = counters.find("lr");
  check<DataError>(lr != counters.end() && lr->is_number(), "the number lr is missing");
  p.lr = lr->get<double>();
  p.window = sums_from(numbers, "window");
  p.epoch = sums_from(numbers, "epoch");
  p.total = sums_from(numbers, "total");
  const std::vector<double> v = values(numbers, "history", kRecord, 2);
  for (std::size_t i = 0; i < v.size(); i += kRecord)
    p.history.push_back({v[i], v[i + 1], v[i + 2], v[i + 3], v[i + 4], v[i + 5], v[i + 6]});
  check<DataError>(static_cast<std::int64_t>(p.history.size()) == p.epochs, "the history has ", p.history.size(),
                   " epochs, but ", p.epochs, " are finished");
  const auto curve = numbers.find("curve");
  check<DataError>(curve != numbers.end(), "the curve is missing");
  p.curve = Series::from_tensor(curve->second);
  return p;
}

}  // namespace reel::train
