#include "reel/examples/train/settings.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "reel/core/error.h"

namespace reel::train {
namespace {

/// What suits a data set: the model, and how long and how fast to train it.
struct Preset {
  const char* model;
  std::int64_t epochs, batch, accumulate;
  double lr;  // of Adam and AdamW
};

Preset preset_of(const std::string& data) {
  if (data == "digits") return {"lenet", 10, 32, 1, 4e-3};
  if (data == "mnist") return {"lenet", 4, 64, 2, 2e-3};
  if (data == "cifar10") return {"resnet", 12, 64, 2, 2e-3};
  return {"cnn", 6, 64, 2, 2e-3};
}

constexpr std::int64_t kMost = 1'000'000'000;  // of anything that is counted

template <class T>
void require(bool ok, const char* option, const T& value, const char* domain) {
  check<ValueError>(ok, "--", option, " ", value, ": must be ", domain);
}

void require_count(const char* option, std::int64_t value, std::int64_t least = 1) {
  check<ValueError>(value >= least && value <= kMost, "--", option, " ", value, ": must be from ", least, " to ",
                    kMost);
}

void require_fraction(const char* option, double value) {
  require(value >= 0 && value < 1, option, value, "from 0 to below 1");
}

void require_one_of(const char* option, const std::string& value, const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
  check<ValueError>(std::ranges::count(names, value) == 1, "--", option, " ", value, ": must be one of ", list);
}

template <class T>
void read(const nlohmann::json& json, T& member) {
  if constexpr (std::is_same_v<T, double>)
    check<DataError>(json.is_number(), "is no number");
  else if constexpr (std::is_same_v<T, std::string>)
    check<DataError>(json.is_string(), "is no text");
  else
    check<DataError>(json.is_number_integer(), "is no whole number");
  member = json.get<T>();
}

}  // namespace

bool is_folder(const std::string& data) {
  return std::ranges::count(kDataNames, data) == 0;
}

void fill_in(Settings& s, const std::set<std::string>& given) {
  const auto fill = [&](const char* name, auto& member, const auto& value) {
    if (!given.contains(name)) member = value;
  };
  const Preset p = preset_of(s.data);
  constexpr double kSgdRate = 0.05, kAdamWDecay = 1e-2, kLenetDropout = 0.25;
  fill("model", s.model, p.model);
  fill("dropout", s.dropout, s.model == "lenet" ? kLenetDropout : 0.0);
  fill("epochs", s.epochs, p.epochs);
  fill("batch", s.batch, p.batch);
  fill("accumulate", s.accumulate, p.accumulate);
  fill("lr", s.lr, s.optimizer == "sgd" ? kSgdRate : p.lr);
  fill("weight-decay", s.weight_decay, s.optimizer == "adamw" ? kAdamWDecay : 0.0);
}

void validate(const Settings& s) {
  check<ValueError>(!s.data.empty(), "--data: must be fashion-mnist, mnist, cifar10, digits or a folder");
  require_one_of("model", s.model, kModels);
  require_one_of("tail", s.tail, kTails);
  require_one_of("optimizer", s.optimizer, kOptimizers);
  require_one_of("schedule", s.schedule, kSchedules);
  require_count("epochs", s.epochs);
  require_count("batch", s.batch);
  require_count("accumulate", s.accumulate);
  require_count("eval-batch", s.eval_batch);
  require_count("warmup", s.warmup, -1);
  require(s.lr > 0 && std::isfinite(s.lr), "lr", s.lr, "a finite number above 0");
  require(s.seed >= 0, "seed", s.seed, "0 or above");
  require_fraction("momentum", s.momentum);
  require(s.weight_decay >= 0 && std::isfinite(s.weight_decay), "weight-decay", s.weight_decay,
          "a finite number, 0 or above");
  require(s.clip >= 0 && std::isfinite(s.clip), "clip", s.clip,
          "the largest norm of the gradient, or 0 for no clipping");
  require_fraction("label-smoothing", s.label_smoothing);
  require_fraction("ema", s.ema);
  require_fraction("dropout", s.dropout);
  check<ValueError>(s.dropout == 0 || s.model == "lenet", "--dropout ", s.dropout, ": --model ", s.model,
                    " has no dropout. Use --model lenet, or leave the option out");
  check<ValueError>(s.schedule != "onecycle" || s.warmup <= 0, "--warmup ", s.warmup,
                    ": --schedule onecycle has a warm-up of its own. Leave one of them out");
}

nlohmann::ordered_json to_json(const Settings& s) {
  nlohmann::ordered_json json;
  each_setting(s, [&](const char* name, const auto& member) { json[name] = member; });
  return json;
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Settings settings_from_json(const nlohmann::json& json) {
  Settings s;
  each_setting(s, [&](const char* name, auto& member) {
    check<DataError>(json.is_object() && json.contains(name), "the setting ", name, " is missing");
    try {
      read(json.at(name), member);
    } catch (const DataError& e) {
      fail<DataError>("the setting ", name, " ", e.what());
    }
  });
  validate(s);
  return s;
}

Settings merge(const Settings& saved,
               const Settings& asked,
               const std::set<std::string>& given,
               const std::string& source) {
  const nlohmann::ordered_json old = to_json(saved), now = to_json(asked);
  const bool extendable = saved.schedule == "constant" || saved.schedule == "plateau";
  const auto text = [](const nlohmann::ordered_json& j) { return j.is_string() ? j.get<std::string>() : j.dump(); };
  Settings result = saved;
  for (const std::string& name : given) {
    // A folder may have moved: what lies in it is compared instead.
    if (name == "data" && is_folder(saved.data) && is_folder(asked.data)) {
      result.data = asked.data;
      continue;
    }
    if (name == "epochs" && extendable) {
      result.epochs = asked.epochs;
      continue;
    }
    check<ValueError>(old.at(name) == now.at(name), source, ": this run was started with --", name, " ",
                      text(old.at(name)), ", but --", name, " ", text(now.at(name)),
                      " was given. Leave the option out, or start a new run");
  }
  return result;
}

}  // namespace reel::train
