#include "reel/core/allocator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "reel/core/error.h"

namespace reel {
namespace {

// Size classes: powers of two from 64 bytes to 32 KiB for the cache of each thread; above that four
// classes to a doubling (at most 25 % waste) in a cache that all threads share.
constexpr int kSmallClasses = 10;
constexpr std::size_t kSmallest = 64, kLargestSmall = kSmallest << (kSmallClasses - 1);
constexpr std::size_t kMostCachedSmall = 64;                    // blocks of a class in one thread
constexpr std::int64_t kUnsettled = 1 << 16;                    // bytes that a thread may count for itself
constexpr std::size_t kMostCachedLarge = std::size_t{1} << 30;  // bytes

int small_class(std::size_t bytes) {
  return bytes <= kSmallest ? 0 : static_cast<int>(std::bit_width((bytes - 1) / kSmallest));
}
std::size_t large_size(std::size_t bytes) {
  const std::size_t step = std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}

void* from_system(std::size_t bytes) {
  void* p = std::aligned_alloc(Allocator::kAlignment, bytes);
  check<OutOfMemory>(p != nullptr, "out of memory: asked for ", bytes, " bytes on cpu. ",
                     "Try a smaller micro-batch and more accumulation");
  return p;
}

struct Block {
  Block* next;
};
struct ThreadCache {
  std::array<Block*, kSmallClasses> head{};
  std::array<std::size_t, kSmallClasses> count{};
  std::int64_t balance = 0;      // bytes of small blocks that the process's count does not know yet
  std::int64_t allocations = 0;  // calls, likewise
  bool closed = false;
  void clear() {
    for (int c = 0; c < kSmallClasses; ++c)
      for (Block*& h = head[static_cast<unsigned>(c)]; h;) std::free(std::exchange(h, h->next));
    count = {};
  }
  ~ThreadCache();
};
thread_local ThreadCache t_cache;

class SystemAllocator final : public Allocator {
 public:
  void* allocate(std::size_t bytes, Stream) override {
    if (bytes == 0) return nullptr;
    void* p = bytes <= kLargestSmall ? allocate_small(bytes) : allocate_large(bytes);
    count(static_cast<std::int64_t>(bytes));
    ++t_cache.allocations;
    return p;
  }

  void deallocate(void* p, std::size_t bytes, Stream) noexcept override {
    if (!p) return;
    count(-static_cast<std::int64_t>(bytes));
    if (bytes > kLargestSmall) return deallocate_large(p, bytes);
    const auto c = static_cast<unsigned>(small_class(bytes));
    if (t_cache.closed || t_cache.count[c] >= kMostCachedSmall) return std::free(p);
    t_cache.head[c] = ::new (p) Block{t_cache.head[c]};
    ++t_cache.count[c];
  }

  MemoryStats stats() const override {
    settle();
    return {current_.load(), peak_.load(), static_cast<std::int64_t>(cached_.load()), allocations_.load(),
            system_calls_.load()};
  }
  void reset_peak() override {
    settle();
    peak_ = current_.load();
  }
  /// Hands what this thread has counted to the process.
  void settle() const {
    const std::int64_t b = std::exchange(t_cache.balance, 0);
    const std::int64_t now = current_.fetch_add(b, std::memory_order_relaxed) + b;
    for (std::int64_t peak = peak_.load(std::memory_order_relaxed);
         now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed);) {
    }
    allocations_.fetch_add(std::exchange(t_cache.allocations, 0), std::memory_order_relaxed);
  }
  void trim() override {
    t_cache.clear();
    const std::lock_guard lock(mutex_);
    for (const auto& [size, p] : large_) std::free(p);
    large_.clear();
    cached_ = 0;
  }

 private:
  // A locked addition for each block would be a tenth of the cost of a small op.
  void count(std::int64_t bytes) {
    t_cache.balance += bytes;
    if (t_cache.balance > kUnsettled || t_cache.balance < -kUnsettled) settle();
  }
  void* allocate_small(std::size_t bytes) {
    const auto c = static_cast<unsigned>(small_class(bytes));
    if (Block* b = t_cache.head[c]) {
      t_cache.head[c] = b->next;
      --t_cache.count[c];
      return b;
    }
    system_calls_.fetch_add(1, std::memory_order_relaxed);
    return from_system(kSmallest << c);
  }
  void* allocate_large(std::size_t bytes) {
    check<OutOfMemory>(bytes < std::size_t{1} << 62, "out of memory: asked for ", bytes, " bytes on cpu");
    const std::size_t size = large_size(bytes);
    {
      const std::lock_guard lock(mutex_);
      // The newest block of the class first: it is the most likely to be in a processor cache.
      const auto at = std::ranges::find(large_.rbegin(), large_.rend(), size, &Large::size);
      if (at != large_.rend()) {
        void* p = at->p;
        large_.erase(std::next(at).base());
        cached_ -= size;
        return p;
      }
    }
    system_calls_.fetch_add(1, std::memory_order_relaxed);
    return from_system(size);
  }
  void deallocate_large(void* p, std::size_t bytes) noexcept {
    const std::size_t size = large_size(bytes);
    try {
      const std::lock_guard lock(mutex_);
      if (cached_ + size <= kMostCachedLarge) {
        large_.push_back({size, p});
        cached_ += size;
        return;
      }
    } catch (...) {  // no memory to remember the block: give it back instead
    }
    std::free(p);
  }

  struct Large {
    std::size_t size;
    void* p;
  };
  mutable std::atomic<std::int64_t> current_{0}, peak_{0}, allocations_{0};
  std::atomic<std::int64_t> system_calls_{0};
  std::mutex mutex_;
  std::vector<Large> large_;
  std::atomic<std::size_t> cached_{0};
};

SystemAllocator& the_allocator() {
  static auto* const allocator = new SystemAllocator;  // never destroyed: tensors may outlive main
  return *allocator;
}

ThreadCache::~ThreadCache() {
  the_allocator().settle();
  closed = true;
  clear();
}

// An empty pointer stands for the system allocator, so that ordinary tensors count no owners.
thread_local std::shared_ptr<Allocator> t_allocator;

}  // namespace

Allocator& system_allocator() {
  return the_allocator();
}

const std::shared_ptr<Allocator>& current_allocator(Device device) {
  if (device.type != DeviceType::cpu) [[unlikely]]
    require_usable(device);
  return t_allocator;
}

AllocatorScope::AllocatorScope(std::shared_ptr<Allocator> allocator, Device device) {
  require_usable(device);
  outer_ = std::exchange(t_allocator, std::move(allocator));
}
AllocatorScope::~AllocatorScope() {
  t_allocator = std::move(outer_);
}

}  // namespace reel
