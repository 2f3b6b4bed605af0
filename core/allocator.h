#pragma once
// Every byte of every tensor comes from an Allocator, in the order of a stream.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "reel/core/device.h"

namespace reel {

/// Bytes and calls since the allocator was made. `current` and `peak` count what callers hold.
struct MemoryStats {
  std::int64_t current = 0;       ///< bytes held by tensors now
  std::int64_t peak = 0;          ///< the most that `current` has been since reset_peak()
  std::int64_t cached = 0;        ///< bytes kept for reuse
  std::int64_t allocations = 0;   ///< calls of allocate()
  std::int64_t system_calls = 0;  ///< of these, how many had to ask the system
};

/// Gives memory in stream order: a block freed on a stream may be handed out again at once to work
/// that is queued later on the same stream.
class Allocator {
 public:
  static constexpr std::size_t kAlignment = 64;

  virtual ~Allocator() = default;
  /// At least `bytes` bytes, aligned to kAlignment. Throws OutOfMemory. Zero bytes give a null pointer.
  virtual void* allocate(std::size_t bytes, Stream stream) = 0;
  /// `bytes` is the number that was asked for.
  virtual void deallocate(void* p, std::size_t bytes, Stream stream) noexcept = 0;
  virtual MemoryStats stats() const = 0;
  virtual void reset_peak() = 0;
  /// Gives cached memory back to the system.
  virtual void trim() {}
};

/// The caching CPU allocator of the process: size classes, a cache for each thread, 64-byte aligned. Each
/// thread settles its count of bytes with the process's every 64 KiB: `current` is exact for what this
/// thread does, and `peak` to 64 KiB a thread.
Allocator& system_allocator();

/// The allocator that new tensors of this device use. `scope` below replaces it.
const std::shared_ptr<Allocator>& current_allocator(Device device);

/// Replaces the allocator of a device, for this thread, until the brace closes. Tensors keep the
/// allocator they came from alive.
class AllocatorScope {
 public:
  explicit AllocatorScope(std::shared_ptr<Allocator> allocator, Device device = Device::cpu());
  ~AllocatorScope();
  AllocatorScope(const AllocatorScope&) = delete;
  AllocatorScope& operator=(const AllocatorScope&) = delete;

 private:
  std::shared_ptr<Allocator> outer_;
};

}  // namespace reel
