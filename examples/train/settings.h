#pragma once
// What decides the numbers of a training run. Saved in checkpoints, and compared when one is
// resumed.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace reel::train {

struct Settings {
  std::string data = "fashion-mnist";  ///< one of kDataNames, or a folder
  std::string model = "cnn";
  std::int64_t epochs = 1;
  std::int64_t batch = 64;
  std::int64_t accumulate = 1;
  std::string tail = "flush";
  std::string optimizer = "adamw";
  double lr = 1e-3;
  double momentum = 0.9;
  double weight_decay = 0;
  std::string schedule = "cosine";
  std::int64_t warmup = -1;  ///< steps; -1: a twentieth of all steps
  double clip = 0;           ///< 0: off
  double label_smoothing = 0;
  double ema = 0;      ///< decay; 0: off
  double dropout = 0;  ///< of lenet
  std::int64_t seed = 0;
  std::int64_t eval_batch = 500;
};

inline const std::vector<std::string> kDataNames = {"fashion-mnist", "mnist", "cifar10", "digits"};
inline const std::vector<std::string> kModels = {"mlp", "lenet", "cnn", "resnet"};
inline const std::vector<std::string> kTails = {"flush", "carry", "drop"};
inline const std::vector<std::string> kOptimizers = {"sgd", "adam", "adamw"};
inline const std::vector<std::string> kSchedules = {"constant", "cosine", "step", "onecycle", "plateau"};

/// Calls visit(name of the option without "--", member) for each setting.
template <class S, class Visit>
void each_setting(S& s, const Visit& visit) {
  visit("data", s.data);
  visit("model", s.model);
  visit("epochs", s.epochs);
  visit("batch", s.batch);
  visit("accumulate", s.accumulate);
  visit("tail", s.tail);
  visit("optimizer", s.optimizer);
  visit("lr", s.lr);
  visit("momentum", s.momentum);
  visit("weight-decay", s.weight_decay);
  visit("schedule", s.schedule);
  visit("warmup", s.warmup);
  visit("clip", s.clip);
  visit("label-smoothing", s.label_smoothing);
  visit("ema", s.ema);
  visit("dropout", s.dropout);
  visit("seed", s.seed);
  visit("eval-batch", s.eval_batch);
}

bool is_folder(const std::string& data);  ///< not one of kDataNames

/// Gives every setting whose name is not in `given` the value that suits the data and the
/// optimizer.
void fill_in(Settings& s, const std::set<std::string>& given);

/// Throws ValueError that names the option, its value and what it may be.
void validate(const Settings& s);

nlohmann::ordered_json to_json(const Settings& s);
/// One line; bytes that are no UTF-8, as a folder's name may hold, are replaced.
std::string dump(const nlohmann::ordered_json& json);
/// Throws DataError for a setting that is missing or of another type; then validates.
Settings settings_from_json(const nlohmann::json& json);

/// Throws ValueError, with both values, when a setting named in `given` differs between the command
/// line and the run that `source` holds. A run whose schedule does not look ahead may be given more
/// epochs; the one returned has them.
Settings merge(const Settings& saved,
               const Settings& asked,
               const std::set<std::string>& given,
               const std::string& source);

}  // namespace reel::train
