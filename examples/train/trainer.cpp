#include "reel/examples/train/trainer.h"

#include <chrono>
#include <numeric>

#include "reel/autograd/ops.h"
#include "reel/autograd/tape.h"
#include "reel/core/error.h"
#include "reel/nn/loss.h"

namespace reel::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double count_correct(const Tensor& logits, const Tensor& labels) {
  const Tensor guess = argmax(logits, 1);
  const auto *g = guess.data<std::int64_t>(), *l = labels.data<std::int64_t>();
  return std::inner_product(g, g + guess.numel(), l, 0.0, std::plus<>(), std::equal_to<>());
}

Sums sums_of(const nn::Loss& loss, const Tensor& logits, const Tensor& labels) {
  return {.loss = loss.sum.item(),
          .count = loss.count.item(),
          .correct = count_correct(logits, labels),
          .images = static_cast<double>(labels.numel())};
}

constexpr optim::PlateauOptions kPlateau{.factor = 0.5, .patience = 2};

}  // namespace

Trainer::Trainer(const Settings& settings, const Data& data)
    : settings_(settings),
      test_(data.test),
      loader_(data.train, {.batch = settings.batch, .seed = static_cast<std::uint64_t>(settings.seed)}),
      fingerprint_(fingerprint_of(data.train, data.test)),
      random_(static_cast<std::uint64_t>(settings.seed)),
      model_(make_model(settings, data.train, random_)),
      optimizer_(make_optimizer(settings, model_.parameters())),
      plateau_(kPlateau),
      steps_(steps_of(settings, loader_.batches())) {
  optimizer_->set_schedule(make_schedule(settings_, steps_, plateau_));
  if (settings_.ema > 0)
    ema_ = std::make_unique<optim::Ema>(model_.parameters(), optim::EmaOptions{.decay = settings_.ema, .warmup = true});
}

void Trainer::restore(const Checkpoint& c) {
  const auto text = [](const Fingerprint& f) {
    return f.name + " (" + std::to_string(f.images) + " + " + std::to_string(f.tests) + " images, " +
           std::to_string(f.classes) + " classes, sha256 " + f.sha256.substr(0, 12) + "...)";
  };
  check<ValueError>(c.data == fingerprint_, "it was made with other data: ", text(c.data), ", but here are ",
                    text(fingerprint_));
  const bool ends = c.loader.epoch == c.progress.epochs + 1 && c.loader.next == 0;
  check<DataError>(c.loader.epoch == c.progress.epochs || ends, "it stands in epoch ", c.loader.epoch,
                   ", but has finished ", c.progress.epochs);
  loader_.restore(c.loader);
  model_.load_state(c.model);
  optimizer_->load_state(c.optimizer);
  plateau_.load_state(c.plateau);
  if (ema_) ema_->load_state(c.ema);
  random_.generator() = Generator(c.random_seed, c.random_position);
  progress_ = c.progress;
}

Checkpoint Trainer::checkpoint() const {
  return {settings_,
          fingerprint_,
          progress_,
          loader_.state(),
          random_.generator().seed(),
          random_.generator().position(),
          model_.state(),
          optimizer_->state(),
          ema_ ? ema_->state() : State{},
          plateau_.state()};
}

bool Trainer::run(Observer& observer, std::int64_t most_steps) {
  while (progress_.epochs < settings_.epochs) {
    while (!epoch_is_over()) {
      if (observer.stop()) return false;
      if (progress_.steps >= most_steps) return true;
      train_micro_batch(observer);
    }
    if (!end_epoch(observer)) return false;
  }
  return true;
}

void Trainer::train_micro_batch(Observer& observer) {
  const auto start = Clock::now();
  const data::Batch batch = *loader_.next();
  const optim::MicroBatch micro = optimizer_->next();
  Tensor logits;
  nn::Loss loss;
  {
    Tape tape;
    logits = model_(batch.images);
    loss = nn::cross_entropy(logits, batch.labels, {.label_smoothing = settings_.label_smoothing});
    tape.backward(micro.add(loss));
  }
  Sums sums = sums_of(loss, logits, batch.labels);
  const double lr = optimizer_->lr();
  optim::Step outcome = optim::Step::empty;
  if (micro.last()) {
    outcome = optimizer_->step();
    if (ema_) ema_->update(outcome);
  }
  sums.seconds = seconds_since(start);
  count(sums);
  if (micro.last()) end_window(outcome, lr, observer);
  observer.on_micro_batch();
}

void Trainer::count(const Sums& sums) {
  progress_.window += sums;
  progress_.epoch += sums;
  progress_.total += sums;
}

void Trainer::end_window(optim::Step outcome, double lr, Observer& observer) {
  ++progress_.steps;
  progress_.lr = lr;
  progress_.skipped += outcome == optim::Step::skipped;
  progress_.curve.add(static_cast<double>(progress_.steps), progress_.window.mean_loss());
  const StepRecord record{progress_.epochs + 1,        progress_.steps, progress_.window, lr,
                          optimizer_->gradient_norm(), outcome};
  progress_.window = {};
  observer.on_step(record);
}

bool Trainer::end_epoch(Observer& observer) {
  const auto start = Clock::now();
  const double lr = optimizer_->lr();
  const optim::Step outcome = optimizer_->end_epoch();
  if (ema_) ema_->update(outcome);
  count({.seconds = seconds_since(start)});
  if (outcome != optim::Step::empty) end_window(outcome, lr, observer);
  if (optimizer_->taken() == 0) progress_.window = {};  // it may have been dropped

  const std::optional<Evaluation> test = evaluate(observer);
  if (!test) return false;
  const Sums& sums = progress_.epoch;
  progress_.history.push_back(
      {sums.mean_loss(), sums.accuracy(), test->loss, test->accuracy, progress_.lr, sums.seconds, sums.rate()});
  plateau_.report(sums.mean_loss());
  progress_.epoch = {};
  ++progress_.epochs;
  loader_.set_epoch(progress_.epochs);
  observer.on_epoch();
  return true;
}

std::optional<Evaluation> Trainer::evaluate(Observer& observer) {
  std::optional<optim::Ema::Evaluation> averaged;
  if (ema_) averaged.emplace(*ema_);
  struct TrainingAgain {
    const nn::Sequential& model;
    ~TrainingAgain() { model.train(); }
  } again{model_};
  model_.eval();
  Sums sums;
  std::vector<std::int64_t> samples;
  for (std::int64_t first = 0; first < test_.size(); first += settings_.eval_batch) {
    if (observer.stop()) return std::nullopt;
    samples.resize(static_cast<std::size_t>(std::min(settings_.eval_batch, test_.size() - first)));
    std::iota(samples.begin(), samples.end(), first);
    const data::Batch batch = data::make_batch(test_, samples);
    const Tensor logits = model_(batch.images);
    sums += sums_of(nn::cross_entropy(logits, batch.labels), logits, batch.labels);
  }
  return Evaluation{sums.mean_loss(), sums.accuracy()};
}

}  // namespace reel::train
