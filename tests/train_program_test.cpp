// What a user of reel-train sees: results, files, folders, refusals.
#include <set>

#include "reel/tests/train_support.h"

using namespace reel::test;

namespace {

/// Whether every tag of an XML text is closed in order, attributes are quoted, and & begins an
/// entity.
bool well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < xml.size(); ++at) {
    if (xml[at] == '&' && xml.find(';', at) > at + 5) return false;
    if (xml[at] != '<') continue;
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos || std::ranges::count(tag, '"') % 2) return false;
    if (tag.starts_with("/")) {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (!tag.ends_with("/")) {
      open.push_back(tag.substr(0, tag.find_first_of(" \n")));
    }
    at = end;
  }
  return open.empty();
}

}  // namespace

TEST_CASE("a run ends with one line of JSON, a log and a picture", "[train]") {
  const TemporaryFolder folder;
  const Finished run = run_train(folder, kTiny + Words{"--accumulate", "3", "--json", "--out", "out"});
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(lines_of(run.out).size() == 1);
  CHECK(run.out.back() == '\n');
  const nlohmann::json json = run.json();
  std::set<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.insert(key);
  CHECK(keys == std::set<std::string>{"test_accuracy", "train_seconds", "images_per_second", "steps", "final_loss",
                                      "peak_bytes", "parameters_sha256"});
  CHECK(json["test_accuracy"].get<double>() > 0.5);
  CHECK(json["train_seconds"].get<double>() > 0);
  CHECK(json["images_per_second"].get<double>() > 0);
  CHECK(json["steps"] == 16);  // 23 micro-batches an epoch
  CHECK(json["final_loss"].get<double>() < 2.3);
  CHECK(json["peak_bytes"].get<std::int64_t>() > 100'000);
  CHECK(json["parameters_sha256"].get<std::string>().size() == 64);

  std::vector<std::string> events;
  for (const nlohmann::json& o : log_without_times(folder / "out/log.jsonl")) events.push_back(o["event"]);
  CHECK(events.size() == 1 + 16 + 2 + 1);
  CHECK(std::ranges::count(events, "step") == 16);
  CHECK(std::ranges::count(events, "epoch") == 2);
  CHECK(events.front() == "start");
  CHECK(events.back() == "end");
  const std::string svg = get_file(folder / "out/curves.svg");
  CHECK(svg.starts_with("<svg "));
  CHECK(well_formed(svg));
  CHECK(std::filesystem::exists(folder / "out/checkpoint.safetensors"));
  CHECK(content_of(folder / "out").size() == 3);
}

TEST_CASE("output that is piped has one line an epoch and no control characters", "[train]") {
  const TemporaryFolder folder;
  const Finished run = run_train(folder, kTiny);
  REQUIRE(run.code == 0);
  CHECK(run.err.empty());
  CHECK(run.out.find('\r') == std::string::npos);
  CHECK(run.out.find('\x1b') == std::string::npos);
  int epochs = 0;
  for (const std::string& line : lines_of(run.out)) epochs += line.starts_with("epoch ");
  CHECK(epochs == 2);
  CHECK(run.out.find("Test accuracy") != std::string::npos);

  const Finished quiet = run_train(folder, kTiny + Words{"--quiet"});
  CHECK(quiet.code == 0);
  CHECK((quiet.out + quiet.err).empty());
  CHECK(std::filesystem::exists(folder / "runs/digits-mlp-1/log.jsonl"));  // the default folders
  CHECK(std::filesystem::exists(folder / "runs/digits-mlp-2/log.jsonl"));
}

TEST_CASE("the number of threads changes no bit", "[train]") {
  for (const char* model : {"mlp", "lenet", "resnet"}) {
    std::set<std::string> hashes;
    for (const char* threads : {"1", "2", "3"}) {
      const TemporaryFolder folder;
      const Finished run = run_train(folder, {"--data", "digits", "--model", model, "--steps", "6", "--batch", "96",
                                              "--json", "--threads", threads});
      INFO(run.err);
      REQUIRE(run.code == 0);
      hashes.insert(run.json()["parameters_sha256"]);
    }
    INFO(model);
    CHECK(hashes.size() == 1);
  }
}

TEST_CASE("--help and --version answer on stdout", "[train]") {
  const TemporaryFolder folder;
  const Finished help = run_train(folder, {"--help"}), version = run_train(folder, {"--version"});
  CHECK(help.code == 0);
  CHECK(version.code == 0);
  for (const char* word : {"--data", "--accumulate", "--resume", "Examples:", "Exit codes:"})
    CHECK(help.out.find(word) != std::string::npos);
  for (const std::string& line : lines_of(help.out)) CHECK(line.size() <= 100);
  CHECK(version.out.starts_with("reel-train "));
  CHECK((help.err + version.err).empty());
}

TEST_CASE("bad arguments are told in one line and write nothing", "[train]") {
  const TemporaryFolder folder;
  put_file(folder / "file", "");
  std::filesystem::create_directory(folder / "empty");
  std::filesystem::create_directory(folder / "short");
  put_file(folder / "short/train-images-idx3-ubyte", number(0x803, 4, true) + number(1u << 31, 4, true) + "x");
  put_file(folder / "short/train-labels-idx1-ubyte", number(0x801, 4, true) + number(3, 4, true) + "xyz");
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"--unknown"}, "--unknown"},
      {{"stray"}, "stray"},
      {{"--batch", "0"}, "--batch 0"},
      {{"--batch", "-5"}, "--batch -5"},
      {{"--batch", "many"}, "many"},
      {{"--batch", "99999999999999999999"}, "--batch"},
      {{"--batch"}, "--batch"},
      {{"--batch", "8", "--batch", "9"}, "--batch"},
      {{"--accumulate", "0"}, "--accumulate 0"},
      {{"--accumulate", "100", "--tail", "drop"}, "--accumulate 100"},
      {{"--epochs", "0"}, "--epochs 0"},
      {{"--steps", "0"}, "--steps 0"},
      {{"--save-every", "0"}, "--save-every 0"},
      {{"--eval-batch", "0"}, "--eval-batch 0"},
      {{"--lr", "nan"}, "--lr nan"},
      {{"--lr", "inf"}, "--lr inf"},
      {{"--lr", "0"}, "--lr 0"},
      {{"--lr", "-1"}, "--lr -1"},
      {{"--momentum", "1"}, "--momentum 1"},
      {{"--weight-decay", "-1"}, "--weight-decay -1"},
      {{"--clip", "nan"}, "--clip nan"},
      {{"--label-smoothing", "1"}, "--label-smoothing 1"},
      {{"--ema", "1"}, "--ema 1"},
      {{"--warmup", "-1"}, "--warmup -1"},
      {{"--warmup", "1000"}, "--warmup 1000"},
      {{"--warmup", "3", "--schedule", "onecycle"}, "onecycle"},
      {{"--dropout", "0.5", "--model", "mlp"}, "--dropout 0.5"},
      {{"--seed", "-1"}, "--seed"},
      {{"--model", "vgg"}, "--model vgg"},
      {{"--tail", "cut"}, "--tail cut"},
      {{"--optimizer", "lion"}, "--optimizer lion"},
      {{"--schedule", "linear"}, "--schedule linear"},
      {{"--log-level", "loud"}, "loud"},
      {{"--threads", "0"}, "--threads 0"},
      {{"--threads", "100000"}, "--threads 100000"},
      {{"--device", "cuda"}, "cuda"},
      {{"--device", "tpu"}, "tpu"},
      {{"--data", "absent"}, "absent"},
      {{"--data", "empty"}, "empty"},
      {{"--data", "short"}, "short/train-images-idx3-ubyte"},
      {{"--data", "mnist"}, "--data-dir"},
      {{"--data-dir", "absent"}, "absent"},
      {{"--out", "file"}, "file"},
      {{"--out", "file/below"}, "file"},
      {{"--out", ""}, "--out"},
      {{"--resume"}, "--resume"},
      {{"--resume", "absent"}, "absent"},
      {{"--resume", "--out", "absent"}, "absent"},
      {{"--resume", "file"}, "file"},
  };
  const auto before = content_of(folder.path());
  for (const auto& [arguments, text] : cases) {
    // Anything that is not in the case is good. Options that are given twice are refused too.
    Words all = arguments;
    if (std::ranges::count(arguments, "--data") == 0) all = all + Words{"--data", "digits"};
    const Finished run = run_train(folder, all);
    INFO(arguments[0] << " " << (arguments.size() > 1 ? arguments[1] : "") << ": " << run.out << run.err);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(run.err.starts_with("reel-train: "));
    CHECK(lines_of(run.err).size() == 1);
    CHECK(run.err.find(text) != std::string::npos);
    auto after = content_of(folder.path());
    after.erase(folder / "stdout");
    after.erase(folder / "stderr");
    CHECK(after == before);
    CHECK(!std::filesystem::exists(folder / "runs"));
  }
}

TEST_CASE("results of an earlier run are not overwritten unless asked", "[train]") {
  const TemporaryFolder folder;
  const Words tiny = kTiny + Words{"--steps", "2", "--out", "out"};
  REQUIRE(run_train(folder, tiny).code == 0);
  const auto before = content_of(folder / "out");
  const Finished again = run_train(folder, tiny + Words{"--seed", "9"});
  CHECK(again.code == 2);
  CHECK(again.err.find("--overwrite") != std::string::npos);
  CHECK(content_of(folder / "out") == before);
  CHECK(run_train(folder, tiny + Words{"--seed", "9", "--overwrite"}).code == 0);
  const auto after = content_of(folder / "out");
  CHECK(after.size() == before.size());
  CHECK(after != before);
}

TEST_CASE("two runs cannot write to one folder", "[train]") {
  const TemporaryFolder folder, other;
  Training first(folder, kDigits + Words{"--model", "mlp", "--epochs", "10000", "--out", "out"});
  first.wait_until([&] { return std::filesystem::exists(folder / "out/checkpoint.safetensors"); });
  REQUIRE(first.running());
  const Finished second = run_train(other, {"--resume", "--out", folder / "out"});
  CHECK(second.code == 2);
  CHECK(second.err.find("another run") != std::string::npos);
  first.send(SIGINT);
  CHECK(first.wait().code == 130);
}
