#pragma once
// Memory for the entries of one tape: taken piece by piece, given back all at once.
#include <cstddef>
#include <new>
#include <utility>

namespace reel {

/// Hands out pieces of large blocks. Blocks return to a cache of the thread when the arena ends, so
/// that recording costs no call of the heap in a steady state. Destructors are the user's business.
class Arena {
 public:
  Arena() = default;
  ~Arena() { clear(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(std::size_t bytes) {
    bytes = (bytes + kAlign - 1) / kAlign * kAlign;
    if (bytes > left_) [[unlikely]]
      grow(bytes);
    std::byte* p = at_;
    at_ += bytes;
    left_ -= bytes;
    return p;
  }
  template <class T, class... A>
  T* make(A&&... a) {
    static_assert(alignof(T) <= kAlign);
    return ::new (allocate(sizeof(T))) T(std::forward<A>(a)...);
  }
  void clear() noexcept;

 private:
  static constexpr std::size_t kAlign = 16;
  struct Block {
    Block* next;
    std::size_t bytes;  // usable, after this header
  };
  void grow(std::size_t bytes);

  Block* blocks_ = nullptr;
  std::byte* at_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace reel
