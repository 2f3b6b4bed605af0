#pragma once
// A reference-counted object from a pool: the tensor's two small objects are made for every op, so
// they must cost nanoseconds and no call of the heap in a steady state.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace reel {

/// A list of free blocks of one size, for each thread.
template <std::size_t Size>
class Pool {
 public:
  static void* get() {
    Free& f = free();
    if (f.head) [[likely]] {
      --f.count;
      return std::exchange(f.head, f.head->next);
    }
    return ::operator new (Size, std::align_val_t{64});
  }
  static void put(void* p) noexcept {
    Free& f = free();
    if (f.count >= kMost) [[unlikely]]
      return ::operator delete (p, std::align_val_t{64});
    f.head = ::new (p) Node{f.head};
    ++f.count;
  }

 private:
  static constexpr int kMost = 4096;
  struct Node {
    Node* next;
  };
  struct Free {
    Node* head = nullptr;
    int count = 0;
    ~Free() {
      count = kMost;  // objects freed after this thread's end go straight to the heap
      while (head) ::operator delete (std::exchange(head, head->next), std::align_val_t{64});
    }
  };
  static Free& free() {
    thread_local Free f;
    return f;
  }
};

/// Counts its owners. `T` derives from Counted<T>; the last `Ref<T>` returns it to the pool.
template <class T>
struct Counted {
  std::atomic<std::uint32_t> owners{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  template <class... A>
  static Ref make(A&&... a) {
    void* p = Pool<sizeof(T)>::get();
    try {
      Ref r;
      r.p_ = ::new (p) T(std::forward<A>(a)...);
      r.p_->owners.store(1, std::memory_order_relaxed);
      return r;
    } catch (...) {
      Pool<sizeof(T)>::put(p);
      throw;
    }
  }
  Ref(const Ref& o) noexcept : p_(o.p_) {
    if (p_) p_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_) release();
  }

  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool unique() const { return p_ && p_->owners.load(std::memory_order_acquire) == 1; }

 private:
  void release() noexcept {
    // The only owner needs no read-modify-write: nobody else can copy what nobody else holds.
    if (p_->owners.load(std::memory_order_acquire) == 1 || p_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      p_->~T();
      Pool<sizeof(T)>::put(p_);
    }
  }
  T* p_ = nullptr;
};

}  // namespace reel
