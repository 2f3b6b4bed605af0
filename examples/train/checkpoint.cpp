#include "reel/examples/train/checkpoint.h"

#include "reel/core/error.h"
#include "reel/data/safetensors.h"
#include "reel/data/sha256.h"

namespace reel::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "reel-train checkpoint";
constexpr const char* kVersion = "1";
// Groups of tensors, as prefixes of their names.
constexpr const char *kModel = "model.", *kOptimizer = "optimizer.", *kEma = "average.", *kPlateau = "schedule.",
                     *kProgress = "progress.";

void hash_part(data::Sha256& hash, const data::Dataset& d) {
  constexpr std::size_t kPixels = 1 << 20;
  std::ostringstream shape;
  shape << d.images.shape() << name_of(d.images.dtype());
  const std::string text = shape.str();
  hash.update(text.data(), text.size());
  hash.update(d.labels.raw(), static_cast<std::size_t>(d.labels.meta().bytes()));
  hash.update(d.images.raw(), std::min(kPixels, static_cast<std::size_t>(d.images.meta().bytes())));
}

void add(State& all, const char* prefix, const State& part) {
  for (const auto& [name, tensor] : part) all[prefix + name] = tensor;
}

/// The members of `all` whose names begin with the prefix, without it.
State part_of(const State& all, const std::string& prefix) {
  State part;
  for (auto i = all.lower_bound(prefix); i != all.end() && i->first.starts_with(prefix); ++i)
    part[i->first.substr(prefix.size())] = i->second;
  return part;
}

/// The member `name`, which must be of the type of `to`.
template <class T>
void get(const nlohmann::json& json, const char* name, T& to) {
  const auto it = json.find(name);
  const bool ok = it != json.end() && (std::is_same_v<T, std::string> ? it->is_string() : it->is_number_unsigned());
  check<DataError>(ok, name, " is missing, or of another type");
  to = it->get<T>();
}

Json json_of(const Fingerprint& f) {
  return {{"name", f.name}, {"images", f.images}, {"tests", f.tests}, {"classes", f.classes}, {"sha256", f.sha256}};
}

Fingerprint fingerprint_from(const nlohmann::json& json) {
  Fingerprint f;
  get(json, "name", f.name);
  get(json, "images", f.images);
  get(json, "tests", f.tests);
  get(json, "classes", f.classes);
  get(json, "sha256", f.sha256);
  return f;
}

nlohmann::json parsed(const std::map<std::string, std::string>& metadata, const char* name) {
  const auto it = metadata.find(name);
  check<DataError>(it != metadata.end(), name, " is missing");
  nlohmann::json json = nlohmann::json::parse(it->second, nullptr, false);
  check<DataError>(json.is_object(), name, " is no JSON object");
  return json;
}

Checkpoint checkpoint_from(const data::SafeTensors& file) {
  Checkpoint c;
  c.settings = settings_from_json(parsed(file.metadata, "settings"));
  c.data = fingerprint_from(parsed(file.metadata, "data"));
  c.progress = progress_from(parsed(file.metadata, "progress"), part_of(file.tensors, kProgress));
  const nlohmann::json loader = parsed(file.metadata, "loader"), random = parsed(file.metadata, "random");
  get(loader, "seed", c.loader.seed);
  get(loader, "epoch", c.loader.epoch);
  get(loader, "next", c.loader.next);
  get(random, "seed", c.random_seed);
  get(random, "position", c.random_position);
  c.model = part_of(file.tensors, kModel);
  c.optimizer = part_of(file.tensors, kOptimizer);
  c.ema = part_of(file.tensors, kEma);
  c.plateau = part_of(file.tensors, kPlateau);
  return c;
}

}  // namespace

Fingerprint fingerprint_of(const data::Dataset& train, const data::Dataset& test) {
  data::Sha256 hash;
  hash_part(hash, train);
  hash_part(hash, test);
  return {train.name, train.size(), test.size(), train.classes, hash.hex()};
}

void save(const Checkpoint& c, const std::string& path) {
  State tensors;
  add(tensors, kModel, c.model);
  add(tensors, kOptimizer, c.optimizer);
  add(tensors, kEma, c.ema);
  add(tensors, kPlateau, c.plateau);
  add(tensors, kProgress, numbers_of(c.progress));
  data::save_safetensors(
      path, tensors,
      {{"format", kFormat},
       {"version", kVersion},
       {"settings", dump(to_json(c.settings))},
       {"data", dump(json_of(c.data))},
       {"progress", dump(counters_of(c.progress))},
       {"loader", dump({{"seed", c.loader.seed}, {"epoch", c.loader.epoch}, {"next", c.loader.next}})},
       {"random", dump({{"seed", c.random_seed}, {"position", c.random_position}})}});
}

Checkpoint load(const std::string& path) {
  const data::SafeTensors file = data::load_safetensors(path);
  const auto meta = [&](const char* name) {
    const auto it = file.metadata.find(name);
    return it == file.metadata.end() ? std::string() : it->second;
  };
  check<DataError>(meta("format") == kFormat, path, ": is no checkpoint of reel-train: its format is '", meta("format"),
                   "', but '", kFormat, "' was expected");
  check<DataError>(meta("version") == kVersion, path, ": has version ", meta("version"),
                   " of the checkpoint format, but this program reads version ", kVersion,
                   ". Resume with the program that wrote it, or start a new run");
  try {
    return checkpoint_from(file);
  } catch (const Error& e) {
    fail<DataError>(path, ": is damaged: ", e.what());
  }
}

}  // namespace reel::train
