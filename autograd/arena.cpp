#include "reel/autograd/arena.h"

#include <algorithm>

namespace reel {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;

/// Standard-sized blocks that wait for the next tape of this thread.
struct Cache {
  void* head = nullptr;
  int count = 0;
  static constexpr int kMost = 64;
  bool closed = false;
  ~Cache() {
    closed = true;
    while (head) ::operator delete(std::exchange(head, *static_cast<void**>(head)));
  }
};
thread_local Cache t_cache;

}  // namespace

void Arena::grow(std::size_t bytes) {
  const std::size_t total = std::max(kBlock, bytes + sizeof(Block));
  void* p = nullptr;
  if (total == kBlock && t_cache.head) {
    p = std::exchange(t_cache.head, *static_cast<void**>(t_cache.head));
    --t_cache.count;
  } else {
    p = ::operator new(total);
  }
  blocks_ = ::new (p) Block{blocks_, total - sizeof(Block)};
  at_ = reinterpret_cast<std::byte*>(blocks_ + 1);
  left_ = blocks_->bytes;
}

void Arena::clear() noexcept {
  while (blocks_) {
    Block* const b = std::exchange(blocks_, blocks_->next);
    if (b->bytes + sizeof(Block) == kBlock && !t_cache.closed && t_cache.count < Cache::kMost) {
      *reinterpret_cast<void**>(b) = std::exchange(t_cache.head, b);
      ++t_cache.count;
    } else {
      ::operator delete(b);
    }
  }
  at_ = nullptr;
  left_ = 0;
}

}  // namespace reel
