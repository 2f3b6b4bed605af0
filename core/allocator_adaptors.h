#pragma once
// Allocators that wrap another one: to count, to limit, to fail on purpose, to poison.
#include <atomic>
#include <memory>

#include "reel/core/allocator.h"

namespace reel {

/// Passes everything on to `inner`, or to the system allocator. The base of the adaptors.
class AllocatorAdaptor : public Allocator {
 public:
  explicit AllocatorAdaptor(std::shared_ptr<Allocator> inner = nullptr) : inner_(std::move(inner)) {}
  void* allocate(std::size_t bytes, Stream stream) override { return inner().allocate(bytes, stream); }
  void deallocate(void* p, std::size_t bytes, Stream stream) noexcept override { inner().deallocate(p, bytes, stream); }
  MemoryStats stats() const override { return inner().stats(); }
  void reset_peak() override { inner().reset_peak(); }
  void trim() override { inner().trim(); }

 protected:
  Allocator& inner() const { return inner_ ? *inner_ : system_allocator(); }

 private:
  std::shared_ptr<Allocator> inner_;
};

/// Counts the calls and bytes that pass through it alone.
class CountingAllocator : public AllocatorAdaptor {
 public:
  using AllocatorAdaptor::AllocatorAdaptor;
  void* allocate(std::size_t bytes, Stream stream) override;
  void deallocate(void* p, std::size_t bytes, Stream stream) noexcept override;
  MemoryStats stats() const override;
  void reset_peak() override { peak_ = current_.load(); }

 private:
  std::atomic<std::int64_t> current_{0}, peak_{0}, allocations_{0};
};

/// Throws OutOfMemory when more than `limit` bytes would be held at once.
class LimitingAllocator final : public CountingAllocator {
 public:
  explicit LimitingAllocator(std::int64_t limit, std::shared_ptr<Allocator> inner = nullptr)
      : CountingAllocator(std::move(inner)), limit_(limit) {}
  void* allocate(std::size_t bytes, Stream stream) override;

 private:
  std::int64_t limit_;
};

/// Throws OutOfMemory at the n-th allocation from now (1 is the next), and only at that one.
class FailingAllocator final : public AllocatorAdaptor {
 public:
  explicit FailingAllocator(std::int64_t n, std::shared_ptr<Allocator> inner = nullptr)
      : AllocatorAdaptor(std::move(inner)), left_(n) {}
  void* allocate(std::size_t bytes, Stream stream) override;
  bool failed() const { return left_ <= 0; }

 private:
  std::atomic<std::int64_t> left_;
};

/// Fills new and freed blocks with 0xFF (NaN in every floating type), and keeps guard bytes around
/// each block. A write outside a block is found when it is freed, or by `damaged()` for living ones.
class PoisoningAllocator final : public AllocatorAdaptor {
 public:
  using AllocatorAdaptor::AllocatorAdaptor;
  void* allocate(std::size_t bytes, Stream stream) override;
  void deallocate(void* p, std::size_t bytes, Stream stream) noexcept override;
  /// Freed blocks whose guard bytes had changed.
  std::int64_t damaged() const { return damaged_; }
  /// Whether the guard bytes of the living block at `p` are still as they were.
  static bool intact(const void* p, std::size_t bytes);

 private:
  std::atomic<std::int64_t> damaged_{0};
};

}  // namespace reel
