#pragma once
// Batches of a data set, in an order that can be repeated and resumed.
#include <concepts>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "reel/data/dataset.h"

namespace reel::data {

/// Unpacks as `auto [images, labels] = batch`.
struct Batch {
  Tensor images;           ///< f32 [b, c, ...], normalised
  Tensor labels;           ///< i64 [b]
  std::int64_t index = 0;  ///< which batch of the epoch this is
};

template <std::size_t I, class B>
requires std::same_as<std::remove_cvref_t<B>, Batch>
decltype(auto) get(B&& batch) {
  static_assert(I < 2);
  if constexpr (I == 0)
    return (std::forward<B>(batch).images);
  else
    return (std::forward<B>(batch).labels);
}

/// The samples with these numbers, as one batch. Safe to call from several threads; `dataset` must
/// be valid (see `validate`). Allocates the two tensors and nothing else. Throws IndexError.
Batch make_batch(const Dataset& dataset, std::span<const std::int64_t> samples, std::int64_t index = 0);

struct LoaderOptions {
  std::int64_t batch = 64;
  bool shuffle = true;
  std::uint64_t seed = 0;
  bool drop_last = false;  ///< leaves out the last batch of an epoch where it is smaller
};

/// Where a loader stands: batches before `next` of `epoch` are done.
struct LoaderState {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t next = 0;
  friend bool operator==(const LoaderState&, const LoaderState&) = default;
};

/// Each range-for over a loader runs one epoch; the next one runs the next epoch, in another order.
/// Sample i of epoch e depends on (seed, e, i) and the size of the data set alone.
class Loader {
 public:
  /// Throws ValueError for an option out of range, and whatever `validate` throws.
  explicit Loader(Dataset dataset, const LoaderOptions& options = {});

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = const Batch*;
    using reference = const Batch&;
    const Batch& operator*() const { return *batch_; }
    const Batch* operator->() const { return &*batch_; }
    Iterator& operator++() {
      batch_.reset();  // its memory is free for the next one
      batch_ = loader_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& i, std::default_sentinel_t) { return !i.batch_; }

   private:
    friend class Loader;
    explicit Iterator(Loader* loader) : loader_(loader), batch_(loader->next()) {}
    Loader* loader_;
    std::optional<Batch> batch_;
  };

  /// Starts the next epoch: epoch 0 at first, the one after the last started one later, and the
  /// rest of the epoch after `restore`. A loop left by `break` leaves the rest of its epoch undone.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }

  /// The next batch of the epoch under way; nothing, once, at its end: the call after that starts
  /// the next epoch.
  std::optional<Batch> next();

  const Dataset& dataset() const { return dataset_; }
  const LoaderOptions& options() const { return options_; }
  std::int64_t batches() const { return batches_; }  ///< in an epoch
  std::int64_t epoch() const { return epoch_; }
  /// The epoch that the next loop runs, from its beginning. Throws ValueError below 0 or from 2^31.
  void set_epoch(std::int64_t epoch);

  /// Counts the batch that was given out last as done.
  LoaderState state() const;
  /// Goes on exactly where `state` was taken; the batch size and the data set must be the same.
  /// Throws ValueError for a state that this loader cannot have.
  void restore(const LoaderState& state);

  /// Sample numbers in the order of an epoch: a function of (seed, epoch, size). Throws as
  /// set_epoch.
  std::vector<std::int64_t> order(std::int64_t epoch) const;

 private:
  Dataset dataset_;
  LoaderOptions options_;
  std::int64_t batches_;
  std::int64_t epoch_ = 0, next_ = 0;
  bool under_way_ = false;           // batches of epoch_ were given out since the last set_epoch or restore
  std::vector<std::int64_t> order_;  // of epoch_; empty: not made yet
};

}  // namespace reel::data

template <>
struct std::tuple_size<reel::data::Batch> : std::integral_constant<std::size_t, 2> {};
template <std::size_t I>
struct std::tuple_element<I, reel::data::Batch> {
  using type = reel::Tensor;
};
