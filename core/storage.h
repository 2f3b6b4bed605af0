#pragma once
// The bytes behind one or several tensors.
#include <cstddef>
#include <memory>

#include "reel/core/allocator.h"
#include "reel/core/intrusive.h"

namespace reel {

/// Owns a block of memory, and counts the in-place changes made to it through any view.
class Storage : public Counted<Storage> {
 public:
  Storage(std::size_t bytes, Device device) : allocator_(current_allocator(device)), bytes_(bytes), device_(device) {
    data_ = allocator().allocate(bytes, Stream{device});
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() { allocator().deallocate(data_, bytes_, Stream{device_}); }

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

  std::uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Allocator& allocator() const { return allocator_ ? *allocator_ : system_allocator(); }

  std::shared_ptr<Allocator> allocator_;  // empty: the system allocator
  void* data_ = nullptr;
  std::size_t bytes_;
  Device device_;
  std::atomic<std::uint32_t> version_{0};
};

}  // namespace reel
