// A run that was stopped, by whatever, and goes on to the same bits; and checkpoints that are
// refused.
#include <random>

#include "reel/data/safetensors.h"
#include "reel/tests/train_support.h"

using namespace reel::test;
using reel::data::load_safetensors;
using reel::data::SafeTensors;
using reel::data::save_safetensors;

namespace {

const char* const kCheckpoint = "out/checkpoint.safetensors";

/// Ways to train that keep different things in a checkpoint. An epoch has 12 micro-batches.
const std::vector<Words> kWays = {
    {"--model", "mlp", "--batch", "128", "--accumulate", "5", "--tail", "carry"},
    {"--model", "lenet", "--batch", "128", "--accumulate", "5", "--tail", "flush", "--optimizer", "sgd", "--ema", "0.9",
     "--label-smoothing", "0.1", "--schedule", "plateau", "--clip", "1"},
    {"--model", "resnet", "--batch", "128", "--accumulate", "5", "--tail", "drop", "--optimizer", "adam", "--schedule",
     "onecycle"},
};

void check_same_run(const Finished& a, const Finished& b, const std::string& log_a, const std::string& log_b) {
  const nlohmann::json x = a.json(), y = b.json();
  for (const char* key : {"test_accuracy", "steps", "final_loss", "parameters_sha256"}) {
    INFO(key);
    CHECK(x[key] == y[key]);
  }
  CHECK(log_without_times(log_a) == log_without_times(log_b));
}

const Words kResume = {"--resume", "--out", "out", "--json", "--threads", "1"};

std::int64_t taken_in_window(const std::string& path) {
  return static_cast<std::int64_t>(load_safetensors(path).tensors.at("optimizer.window").to_vector<double>()[0]);
}

}  // namespace

TEST_CASE("a run cut by --steps goes on to the same bits", "[train]") {
  for (const Words& way : kWays) {
    const Words all = kDigits + Words{"--epochs", "3", "--json", "--out", "out"} + way;
    const TemporaryFolder whole;
    const Finished unbroken = run_train(whole, all);
    INFO(way[1] << ": " << unbroken.err);
    REQUIRE(unbroken.code == 0);
    for (const char* cut : {"1", "2", "4", "6"}) {  // 2, 3: at or near the end of the first epoch
      const TemporaryFolder folder;
      INFO("cut after " << cut);
      REQUIRE(run_train(folder, all + Words{"--steps", cut}).code == 0);
      const Finished rest = run_train(folder, kResume);
      INFO(rest.err);
      REQUIRE(rest.code == 0);
      check_same_run(unbroken, rest, whole / "out/log.jsonl", folder / "out/log.jsonl");
    }
  }
}

TEST_CASE("a run stopped by SIGTERM again and again goes on to the same bits", "[train]") {
  const Words all = kDigits + Words{"--model", "lenet",        "--epochs", "12",     "--batch", "32", "--ema",
                                    "0.9",     "--accumulate", "7",        "--json", "--out",   "out"};
  const TemporaryFolder whole, folder;
  const Finished unbroken = run_train(whole, all);
  REQUIRE(unbroken.code == 0);
  const auto pause = std::chrono::duration<double>(unbroken.json()["train_seconds"].get<double>() / 9);
  int stops = 0, in_window = 0;
  Finished last;
  for (Words arguments = all;; arguments = kResume) {
    REQUIRE(stops < 60);
    Training training(folder, arguments);
    // From here on it trains, and listens to signals.
    training.wait_until([&] { return get_file(folder / "stderr").find("Results:") != std::string::npos; });
    const auto start = std::chrono::steady_clock::now();
    training.wait_until([&] { return std::chrono::steady_clock::now() - start > pause; });
    training.send(SIGTERM);
    last = training.wait();
    INFO(last.err);
    if (last.code == 0) break;
    const bool stopped = last.code == 128 + SIGTERM;
    REQUIRE(stopped);
    REQUIRE(last.err.find("reel-train --resume --out out") != std::string::npos);
    ++stops;
    in_window += taken_in_window(folder / kCheckpoint) > 0;
  }
  CHECK(stops >= 2);
  CHECK(in_window >= 1);
  check_same_run(unbroken, last, whole / "out/log.jsonl", folder / "out/log.jsonl");
}

TEST_CASE("a process killed while it saves leaves a whole checkpoint", "[train]") {
  const Words all = kDigits + Words{"--model", "mlp", "--epochs",     "8", "--batch", "64", "--json",
                                    "--out",   "out", "--save-every", "1"};
  const TemporaryFolder whole, folder;
  const Finished unbroken = run_train(whole, all);
  REQUIRE(unbroken.code == 0);
  std::mt19937 random(7);
  const Words resume = kResume + Words{"--save-every", "1"};
  REQUIRE(run_train(folder, all + Words{"--steps", "1"}).code == 0);
  std::int64_t kills = 0;
  Finished last;
  for (; kills < 50; ++kills) {
    Training training(folder, resume);
    const auto before = std::filesystem::last_write_time(folder / kCheckpoint);
    training.wait_until([&] { return std::filesystem::last_write_time(folder / kCheckpoint) != before; });
    usleep(static_cast<unsigned>(random() % 8000));
    training.send(SIGKILL);
    last = training.wait();
    const SafeTensors file = load_safetensors(folder / kCheckpoint);
    REQUIRE(file.metadata.at("format") == "reel-train checkpoint");
    if (last.code == 0) break;
    REQUIRE(last.code == 128 + SIGKILL);
  }
  CHECK(kills > 5);
  if (last.code != 0) last = run_train(folder, resume);
  REQUIRE(last.code == 0);
  check_same_run(unbroken, last, whole / "out/log.jsonl", folder / "out/log.jsonl");
  CHECK(content_of(folder / "out").size() == 3);  // no half-written file is left
}

TEST_CASE("--resume of a finished run shows its result again", "[train]") {
  const TemporaryFolder folder;
  const Finished first = run_train(folder, kTiny + Words{"--json", "--out", "out"});
  const Finished again = run_train(folder, kResume);
  REQUIRE(again.code == 0);
  check_same_run(first, again, folder / "out/log.jsonl", folder / "out/log.jsonl");
  const Finished elsewhere = run_train(folder, {"--resume", kCheckpoint, "--out", "copy", "--json"});
  INFO(elsewhere.err);
  REQUIRE(elsewhere.code == 0);
  check_same_run(first, elsewhere, folder / "out/log.jsonl", folder / "copy/log.jsonl");
}

TEST_CASE("a schedule that does not look ahead can be extended", "[train]") {
  const Words all =
      kDigits + Words{"--model", "mlp", "--schedule", "constant", "--warmup", "2", "--json", "--out", "out"};
  const TemporaryFolder whole, folder;
  const Finished unbroken = run_train(whole, all + Words{"--epochs", "3"});
  REQUIRE(run_train(folder, all + Words{"--epochs", "1"}).code == 0);
  const Finished rest = run_train(folder, kResume + Words{"--epochs", "3"});
  INFO(rest.err);
  REQUIRE(rest.code == 0);
  CHECK(rest.json()["parameters_sha256"] == unbroken.json()["parameters_sha256"]);
}

TEST_CASE("checkpoints that do not fit are refused, with both values, and nothing changes", "[train]") {
  const TemporaryFolder folder;
  REQUIRE(run_train(folder, kTiny + Words{"--accumulate", "3", "--steps", "4", "--out", "out"}).code == 0);
  const std::string good = get_file(folder / kCheckpoint);
  const SafeTensors parts = load_safetensors(folder / kCheckpoint);
  const std::string other = folder / "other.safetensors";

  const auto refused = [&](const Words& arguments, const Words& texts) {
    const auto before = content_of(folder / "out");
    const Finished run = run_train(folder, arguments);
    INFO(run.out << run.err);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(lines_of(run.err).size() == 1);
    CHECK(run.err.starts_with("reel-train: "));
    for (const std::string& text : texts) CHECK(run.err.find(text) != std::string::npos);
    CHECK(content_of(folder / "out") == before);
  };
  const auto refused_other = [&](const Words& texts) {
    refused({"--resume", other, "--out", "new"}, Words{"other.safetensors"} + texts);
    CHECK(!std::filesystem::exists(folder / "new"));
  };
  /// The checkpoint with one text replaced.
  const auto with_text = [&](const std::string& key, const std::string& from, const std::string& to) {
    SafeTensors changed = parts;
    std::string& text = changed.metadata.at(key);
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
    save_safetensors(other, changed.tensors, changed.metadata);
  };

  SECTION("asked for other settings") {
    const std::vector<std::pair<Words, Words>> cases = {
        {{"--model", "lenet"}, {"mlp", "lenet"}}, {{"--batch", "32"}, {"64", "32"}},
        {{"--accumulate", "4"}, {"3", "4"}},      {{"--optimizer", "sgd"}, {"adamw", "sgd"}},
        {{"--lr", "0.5"}, {"0.004", "0.5"}},      {{"--data", "fashion-mnist"}, {"digits", "fashion-mnist"}},
        {{"--seed", "3"}, {"seed 0", "seed 3"}},  {{"--epochs", "7"}, {"epochs 2", "epochs 7"}},
    };
    for (const auto& [arguments, texts] : cases) refused(Words{"--resume", "--out", "out"} + arguments, texts);
  }
  SECTION("cut anywhere") {
    for (std::size_t n : {std::size_t{0}, std::size_t{7}, std::size_t{100}, good.size() / 2, good.size() - 1}) {
      put_file(other, good.substr(0, n));
      refused_other({});
    }
    put_file(other, good + "x");
    refused_other({});
  }
  SECTION("of another program, version or data") {
    save_safetensors(other, {{"weight", reel::Tensor::zeros({2})}}, {{"format", "pt"}});
    refused_other({"'pt'", "reel-train checkpoint"});
    with_text("version", "1", "0");
    refused_other({"version 0", "version 1"});
    with_text("data", "\"images\":1438", "\"images\":1439");
    refused_other({"1439", "1438"});
  }
  SECTION("texts that contradict the tensors or themselves") {
    const std::vector<std::array<std::string, 3>> changes = {
        {"settings", "\"mlp\"", "\"lenet\""},
        {"settings", "\"mlp\"", "7"},
        {"settings", "\"batch\":64", "\"batch\":0"},
        {"settings", "\"adamw\"", "\"sgd\""},
        {"settings", "{", "["},
        {"settings", "\"lr\":", "\"rate\":"},
        {"loader", "\"next\":", "\"next\":99"},
        {"loader", "\"epoch\":", "\"epoch\":7"},
        {"progress", "\"epochs\":0", "\"epochs\":1"},
        {"progress", "\"steps\":4", "\"steps\":-4"},
        {"random", "\"seed\"", "\"sowing\""},
    };
    for (const auto& [key, from, to] : changes) {
      INFO(key << ": " << from << " becomes " << to);
      with_text(key, from, to);
      refused_other({});
    }
  }
  SECTION("a tensor is absent, too much or of another shape") {
    for (const auto& [name, tensor] : parts.tensors) {
      if (name.starts_with("model.") && name.ends_with("weight")) continue;  // one of each kind is enough
      SafeTensors changed = parts;
      changed.tensors.erase(name);
      save_safetensors(other, changed.tensors, changed.metadata);
      INFO(name);
      refused_other({});
    }
    SafeTensors changed = parts;
    changed.tensors["model.extra"] = reel::Tensor::zeros({2});
    save_safetensors(other, changed.tensors, changed.metadata);
    refused_other({"extra"});
    changed = parts;
    changed.tensors["model.1.0.weight"] = reel::Tensor::zeros({2, 3});
    save_safetensors(other, changed.tensors, changed.metadata);
    refused_other({"1.0.weight"});
  }
}
