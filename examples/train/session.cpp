#include "reel/examples/train/session.h"

#include <filesystem>
#include <limits>

#include "reel/core/allocator.h"
#include "reel/core/error.h"
#include "reel/core/parallel.h"
#include "reel/data/file.h"
#include "reel/examples/train/curves.h"
#include "reel/examples/train/folder.h"
#include "reel/examples/train/interrupt.h"
#include "reel/examples/train/text.h"
#include "reel/nn/summary.h"

namespace reel::train {
namespace {

/// A path as a shell takes it.
std::string shell_word(const std::string& path) {
  const bool plain = path.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789_-./+=:,@%") == std::string::npos;
  if (plain && !path.empty()) return path;
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::unique_ptr<Trainer> Session::prepare(const Command& command) {
  if (command.threads) set_num_threads(*command.threads);
  require_free(command, asked_folder(command));
  if (!command.resume)
    return std::make_unique<Trainer>(command.settings, load_data(command.settings.data, command.data_dir));
  const std::string path = checkpoint_path(command);
  const Checkpoint c = load(path);
  const Settings settings = merge(c.settings, command.settings, command.given, path);
  auto trainer = std::make_unique<Trainer>(settings, load_data(settings.data, command.data_dir));
  try {
    trainer->restore(c);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& e) {
    fail<DataError>(path, ": cannot be resumed: ", e.what());
  }
  return trainer;
}

Session::Session(const Command& command, Display& display)
    : command_(command),
      display_(display),
      trainer_(prepare(command)),
      most_steps_(command.steps > 0 ? command.steps : std::numeric_limits<std::int64_t>::max()),
      first_step_(trainer_->progress().steps) {
  open();
}

/// The only part of the preparation that writes. The lock on the log comes before anything is
/// removed.
void Session::open() {
  folder_ = make_folder(asked_folder(command_), trainer_->settings());
  journal_ = std::make_unique<Journal>(file(kLogFile));
  clean(folder_, command_.overwrite);
  if (!command_.resume) {
    journal_->start();
    log_start();
    return;
  }
  const std::string old_folder = std::filesystem::path(checkpoint_path(command_)).parent_path();
  std::error_code error;
  const bool same = std::filesystem::equivalent(checkpoint_path(command_), file(kCheckpointFile), error);
  const std::string old_log = same ? file(kLogFile) : (std::filesystem::path(old_folder) / kLogFile).string();
  if (!journal_->start(old_log, trainer_->progress().log_bytes))
    display_.warning(old_log + ": earlier lines of the log are missing");
}

void Session::log_start() {
  const Fingerprint& f = trainer_->fingerprint();
  journal_->write({{"event", "start"},
                   {"settings", to_json(trainer_->settings())},
                   {"data", {{"images", f.images}, {"tests", f.tests}, {"classes", f.classes}, {"sha256", f.sha256}}},
                   {"steps", trainer_->steps()}});
}

void Session::introduce() {
  const Settings& s = trainer_->settings();
  const data::Dataset& d = trainer_->images();
  const Fingerprint& f = trainer_->fingerprint();
  Shape input = d.images.shape();
  input[0] = 1;
  std::string size;
  for (int i = 1; i < input.rank(); ++i) size += (i > 1 ? " x " : "") + std::to_string(input[i]);
  display_.line("Data: " + s.data + ", " + grouped(f.images) + " training and " + grouped(f.tests) +
                " test images of " + size + ", " + std::to_string(f.classes) + " classes");
  display_.line("Model: " + s.model + "\n\n" + nn::summary(trainer_->model(), input).text());
  const std::string window =
      s.accumulate == 1 ? std::to_string(s.batch) : std::to_string(s.accumulate) + " x " + std::to_string(s.batch);
  display_.line("Training: " + s.optimizer + ", lr " + significant(s.lr) + " (" + s.schedule + "), " + window +
                " images a step, " + grouped(trainer_->steps()) + " steps in " + std::to_string(s.epochs) +
                " epochs, seed " + std::to_string(s.seed) + ", " + std::to_string(num_threads()) +
                (num_threads() == 1 ? " thread" : " threads"));
  display_.line("Results: " + folder_ + "/");
  if (command_.resume)
    display_.line("Resumed after " + grouped(first_step_) + " steps and " +
                  std::to_string(trainer_->progress().epochs) + " whole epochs");
  display_.line("");
}

int Session::run() {
  watch_interrupts();
  introduce();
  if (!trainer_->run(*this, most_steps_)) return stopped(interrupted());
  save();
  if (trainer_->tested()) {
    const EpochRecord& last = trainer_->progress().history.back();
    final_ = {last.test_loss, last.test_accuracy};
  } else {
    const std::optional<Evaluation> test = trainer_->evaluate(*this);
    if (!test) return stopped(interrupted());
    final_ = *test;
  }
  draw_curves();
  nlohmann::ordered_json end = {{"event", "end"}};
  end.update(result());
  journal_->write(end);
  journal_->flush();
  summarize();
  return 0;
}

bool Session::stop() {
  return interrupted() != 0;
}

double Session::seconds_left() const {
  const Progress& p = trainer_->progress();
  const double steps = static_cast<double>(std::min(trainer_->steps(), most_steps_) - p.steps);
  return p.steps > 0 ? p.total.seconds / static_cast<double>(p.steps) * steps : std::numeric_limits<double>::infinity();
}

void Session::on_micro_batch() {
  display_.bar([this] {
    struct Bar {
      double share;
      std::string head, tail;
    };
    const Progress& p = trainer_->progress();
    const double share = p.epoch.images / static_cast<double>(trainer_->images().size());
    return Bar{share, "epoch " + std::to_string(p.epochs + 1) + "/" + std::to_string(trainer_->settings().epochs),
               fixed(100 * share, 0) + " %  loss " + fixed(p.epoch.mean_loss(), 4) + "  accuracy " +
                   percent(p.epoch.accuracy()) + "  " + grouped(static_cast<std::int64_t>(p.epoch.rate())) +
                   " images/s  " + duration(seconds_left()) + " left"};
  });
}

void Session::on_step(const StepRecord& r) {
  journal_->write({{"event", "step"},
                   {"epoch", r.epoch},
                   {"step", r.step},
                   {"loss", r.window.mean_loss()},
                   {"accuracy", r.window.accuracy()},
                   {"images", r.window.images},
                   {"lr", r.lr},
                   {"gradient_norm", r.gradient_norm},
                   {"outcome", optim::name_of(r.outcome)},
                   {"seconds", trainer_->progress().total.seconds},
                   {"images_per_second", r.window.rate()}});
  if (r.outcome == optim::Step::skipped && trainer_->progress().skipped == 1)
    display_.warning("step " + std::to_string(r.step) +
                     ": a gradient was not finite, so the step was skipped. Try a smaller --lr, or "
                     "--clip 1. This is said once");
  if (command_.save_every > 0 && r.step % command_.save_every == 0) save();
}

void Session::on_epoch() {
  const Progress& p = trainer_->progress();
  const EpochRecord& r = p.history.back();
  journal_->write({{"event", "epoch"},
                   {"epoch", p.epochs},
                   {"steps", p.steps},
                   {"train_loss", r.train_loss},
                   {"train_accuracy", r.train_accuracy},
                   {"test_loss", r.test_loss},
                   {"test_accuracy", r.test_accuracy},
                   {"lr", r.lr},
                   {"seconds", r.seconds},
                   {"images_per_second", r.images_per_second}});
  const std::string all = std::to_string(trainer_->settings().epochs);
  std::string number = std::to_string(p.epochs);
  number.insert(0, all.size() - std::min(all.size(), number.size()), ' ');
  display_.line("epoch " + number + "/" + all + "  train loss " + fixed(r.train_loss, 4) + "  test loss " +
                fixed(r.test_loss, 4) + "  test accuracy " + percent(r.test_accuracy) + "  lr " + significant(r.lr) +
                "  " + grouped(static_cast<std::int64_t>(r.images_per_second)) + " images/s");
  save();
  draw_curves();
}

void Session::save() {
  const std::pair now(trainer_->progress().epochs, trainer_->progress().total.images);
  if (saved_ == now) return;
  journal_->flush();  // a checkpoint counts on the lines before it
  Checkpoint c = trainer_->checkpoint();
  c.progress.log_bytes = journal_->bytes();
  train::save(c, file(kCheckpointFile));
  saved_ = now;
}

void Session::draw_curves() const {
  const Settings& s = trainer_->settings();
  std::string title = s.model + " on " + s.data;
  const Progress& p = trainer_->progress();
  if (!p.history.empty()) title += ": test accuracy " + percent(p.history.back().test_accuracy);
  const std::string svg = curves_svg(p, title, trainer_->steps_per_epoch());
  data::write_atomically(file(kCurvesFile), [&](data::Writer& out) { out.write(svg.data(), svg.size()); });
}

int Session::stopped(int signal) {
  save();
  display_.line("Stopped after " + grouped(trainer_->progress().steps) +
                " steps. To go on:\n  reel-train --resume --out " + shell_word(folder_));
  return 128 + signal;
}

nlohmann::ordered_json Session::result() const {
  const Progress& p = trainer_->progress();
  return {{"test_accuracy", final_.accuracy},
          {"train_seconds", p.total.seconds},
          {"images_per_second", p.total.rate()},
          {"steps", p.steps},
          {"final_loss", p.loss()},
          {"peak_bytes", system_allocator().stats().peak},
          {"parameters_sha256", sha256_of(trainer_->model().parameters())}};
}

void Session::summarize() {
  const Progress& p = trainer_->progress();
  const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::string best;
  if (const std::int64_t i = p.best(); i >= 0)
    best = " (best " + percent(p.history[static_cast<std::size_t>(i)].test_accuracy) + " in epoch " +
           std::to_string(i + 1) + ")";
  display_.line("\nTest accuracy  " + percent(final_.accuracy) + best);
  display_.line("Training loss  " + fixed(p.loss(), 4));
  display_.line("Steps          " + grouped(p.steps) + (p.skipped > 0 ? " (" + grouped(p.skipped) + " skipped)" : "") +
                (trainer_->progress().steps == first_step_ ? " (nothing was left to train)" : ""));
  display_.line("Time           " + duration(p.total.seconds) + " of training, " + duration(whole) + " in all");
  display_.line("Speed          " + grouped(static_cast<std::int64_t>(p.total.rate())) + " images/s");
  display_.line("Memory         " + bytes_text(system_allocator().stats().peak) + " at most in tensors");
  display_.line("Files          " + file(kCheckpointFile) + "\n               " + file(kLogFile) + "\n               " +
                file(kCurvesFile));
}

}  // namespace reel::train
