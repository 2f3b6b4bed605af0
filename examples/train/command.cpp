#include "reel/examples/train/command.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>

#include "reel/core/device.h"
#include "reel/core/error.h"
#include "reel/core/version.h"

namespace reel::train {
namespace {

constexpr const char* kDescription =
    "Trains an image classifier, shows how it goes, and leaves in one folder a checkpoint that can "
    "be\n"
    "resumed, a log and a picture of the curves. Without options: a small convolutional network "
    "on\n"
    "Fashion-MNIST, a few minutes on two cores.";

constexpr const char* kFooter = R"(Defaults that depend on the data and the optimizer:
  --data          --model  --epochs  --batch  --accumulate  --lr (adam, adamw)
  fashion-mnist   cnn      6         64       2             0.002
  mnist           lenet    4         64       2             0.002
  cifar10         resnet   12        64       2             0.002
  digits          lenet    10        32       1             0.004
  a folder        cnn      6         64       2             0.002
  With --optimizer sgd, --lr is 0.05. --weight-decay is 0.01 for adamw, else 0.

Files in --out:
  checkpoint.safetensors   weights ("model.NAME"), optimizer, and all that --resume needs
  log.jsonl                a JSON object a line: start, each optimizer step, each epoch, end
  curves.svg               loss and accuracy

The line of --json:
  test_accuracy      share of the test images, at the end
  train_seconds      of training alone, without evaluation; with the parts before a --resume
  images_per_second  training images seen in that time
  steps              optimizer steps
  final_loss         mean training loss of the last epoch
  peak_bytes         most memory that tensors held at one time
  parameters_sha256  of the bytes of all parameters, in order of their names

Exit codes: 0 done; 1 failed while training; 2 wrong options or files, nothing was changed;
130 stopped by Ctrl-C (143: by SIGTERM), a checkpoint was saved. A second Ctrl-C ends at once.

Examples:
  reel-train                                       the defaults
  reel-train --data digits --epochs 20 --seed 7    a minute at most, no download needed
  reel-train --batch 32 --accumulate 4             as --batch 128, with the memory of 32
  reel-train --optimizer sgd --schedule onecycle --lr 0.1 --clip 1
  reel-train --data ./my-idx-files --model resnet --out runs/mine
  reel-train --resume --out runs/mine              goes on where it was stopped
  reel-train --data digits --json --quiet          for scripts)";

/// Breaks a text into lines for the column of explanations.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kWidth = 66;
  std::string out, word;
  std::size_t column = 0;
  for (std::istringstream words(text); words >> word; column += word.size()) {
    if (column > 0) out += column + 1 + word.size() > kWidth ? (column = 0, '\n') : (++column, ' ');
    out += word;
  }
  return out;
}

/// Adds options to one group of the help text. Explanations end with the default.
struct Group {
  CLI::App& app;
  const char* name;

  template <class T>
  CLI::Option* option(const char* flag, T& member, const char* type, const char* text) const {
    return app.add_option(flag, member, wrapped(text))->type_name(type)->group(name);
  }
  void flag(const char* flag, bool& member, const char* text) const {
    app.add_flag(flag, member, wrapped(text))->group(name);
  }
};

void declare(CLI::App& app, Command& c) {
  Settings& s = c.settings;

  const Group what{app, "What is trained"};
  what.option("--data", s.data, "NAME|DIR",
              "fashion-mnist, mnist, cifar10, digits, or a folder with IDX or CIFAR-10 files "
              "[fashion-mnist]");
  what.option("--data-dir", c.data_dir, "DIR",
              "where the files of --data lie [where the package or the library put them]");
  what.option("--model", s.model, "NAME", "mlp, lenet, cnn or resnet [by data, see below]");
  what.option("--seed", s.seed, "N", "of the weights, the order of the images and dropout [0]");

  const Group how{app, "How long, and how much at a time"};
  how.option("--epochs", s.epochs, "N", "passes over the training images [by data]");
  how.option("--steps", c.steps, "N",
             "stop after N optimizer steps in all, even within an epoch; the schedule still spans "
             "--epochs [no bound]");
  how.option("--batch", s.batch, "N", "images in a micro-batch [by data]");
  how.option("--accumulate", s.accumulate, "N", "micro-batches whose gradients add up to one optimizer step [by data]");
  how.option("--tail", s.tail, "NAME",
             "what becomes of a window that is not full at the end of an epoch: flush (a step with "
             "what there is), carry (goes on in the next epoch) or drop [flush]");

  const Group optimizer{app, "Optimizer"};
  optimizer.option("--optimizer", s.optimizer, "NAME", "sgd, adam or adamw [adamw]");
  optimizer.option("--lr", s.lr, "X", "the highest learning rate [by data and optimizer]");
  optimizer.option("--momentum", s.momentum, "X", "of sgd [0.9]");
  optimizer.option("--weight-decay", s.weight_decay, "X", "pull of the weights towards 0 [0.01 for adamw, else 0]");
  optimizer.option("--schedule", s.schedule, "NAME",
                   "the learning rate over time: constant; cosine (falls to 0); step (a tenth after "
                   "each third of the run); onecycle; plateau (a half when the training loss has "
                   "not fallen for 2 epochs) [cosine]");
  optimizer.option("--warmup", s.warmup, "STEPS",
                   "optimizer steps in which the rate grows to --lr [a twentieth of all]");
  optimizer.option("--clip", s.clip, "X", "largest norm of the gradient; 0: any [0]");
  optimizer.option("--label-smoothing", s.label_smoothing, "X",
                   "share of each label that is spread over all classes [0]");
  optimizer.option("--dropout", s.dropout, "X",
                   "share of the numbers before the last layer of lenet that are left out in "
                   "training [0.25 for lenet]");
  optimizer.option("--ema", s.ema, "X",
                   "decay of a moving average of the weights, such as 0.999, which is then what is "
                   "tested; 0: none [0]");

  const Group machine{app, "Machine"};
  machine.option("--threads", c.threads, "N", "cores to use; changes the time, never a number [all]");
  machine.option("--device", c.device, "NAME", "cpu or cuda [cpu]");
  machine.option("--eval-batch", s.eval_batch, "N", "test images at a time [500]");

  const Group files{app, "Files"};
  files.option("--out", c.out, "DIR", "folder for the results [runs/DATA-MODEL-N with the next free N]");
  files
      .option("--resume", c.resume_file, "[FILE]",
              "go on from FILE, or from the checkpoint in --out, to the same bits as a run that was "
              "never stopped; the settings come from the checkpoint")
      ->expected(0, 1);
  files.flag("--overwrite", c.overwrite, "replace the results of an earlier run in --out");
  files.option("--save-every", c.save_every, "STEPS",
               "save a checkpoint every so many optimizer steps, beside those at the end of each "
               "epoch [no]");

  const Group output{app, "Output"};
  output.flag("--json", c.json, "end with one line of JSON on stdout; all else goes to stderr");
  output.flag("--quiet", c.quiet, "warnings and errors only");
  const std::map<std::string, LogDetail> levels = {
      {"error", LogDetail::error}, {"warning", LogDetail::warning}, {"info", LogDetail::info}};
  output
      .option("--log-level", c.log_level, "NAME", "messages of the library to show: error, warning or info [warning]")
      ->transform(CLI::CheckedTransformer(levels).description(""));
}

/// The options that are no settings. The whole command line is known here.
void validate_rest(const CLI::App& app, const Command& c) {
  constexpr int kMostThreads = 1024;
  const auto given = [&](const char* name) { return app.get_option(name)->count() > 0; };
  check<ValueError>(!c.threads || (*c.threads >= 1 && *c.threads <= kMostThreads), "--threads ", c.threads.value_or(0),
                    ": must be from 1 to ", kMostThreads);
  check<ValueError>(!given("--steps") || c.steps >= 1, "--steps ", c.steps, ": must be at least 1");
  check<ValueError>(!given("--save-every") || c.save_every >= 1, "--save-every ", c.save_every, ": must be at least 1");
  check<ValueError>(!given("--warmup") || c.settings.warmup >= 0, "--warmup ", c.settings.warmup,
                    ": must be 0 or above");
  check<ValueError>(!given("--out") || !c.out.empty(), "--out: the name of the folder is empty");
  check<ValueError>(!c.resume || !c.resume_file.empty() || !c.out.empty(),
                    "--resume: from which run? Give a checkpoint, or the folder of the run as --out");
  check<ValueError>(!c.resume || !c.overwrite, "--resume and --overwrite exclude each other");
  require_usable(device_from(c.device));
}

}  // namespace

std::optional<int> parse(int argc, const char* const* argv, Command& command) {
  CLI::App app(kDescription, "reel-train");
  app.footer(kFooter);
  app.get_formatter()->column_width(28);
  app.set_help_flag("-h,--help", "this text")->group("Help");
  app.set_version_flag("--version", std::string("reel-train ") + version(), "the version")->group("Help");
  declare(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e, std::cout, std::cerr);
  } catch (const CLI::ParseError& e) {
    fail<ValueError>(e.what(), ". Run reel-train --help for all options");
  }
  each_setting(command.settings, [&](const char* name, const auto&) {
    if (app.get_option(std::string("--") + name)->count() > 0) command.given.insert(name);
  });
  command.resume = app.get_option("--resume")->count() > 0;
  fill_in(command.settings, command.given);
  validate(command.settings);
  validate_rest(app, command);
  return std::nullopt;
}

}  // namespace reel::train
