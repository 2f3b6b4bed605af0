#include "reel/core/allocator_adaptors.h"

#include <algorithm>
#include <cstring>

#include "reel/core/error.h"

namespace reel {

void* CountingAllocator::allocate(std::size_t bytes, Stream stream) {
  void* p = inner().allocate(bytes, stream);
  const auto b = static_cast<std::int64_t>(bytes);
  const std::int64_t now = current_.fetch_add(b) + b;
  for (std::int64_t peak = peak_; now > peak && !peak_.compare_exchange_weak(peak, now);) {
  }
  ++allocations_;
  return p;
}
void CountingAllocator::deallocate(void* p, std::size_t bytes, Stream stream) noexcept {
  if (p) current_ -= static_cast<std::int64_t>(bytes);
  inner().deallocate(p, bytes, stream);
}
MemoryStats CountingAllocator::stats() const {
  return {current_.load(), peak_.load(), 0, allocations_.load(), 0};
}

void* LimitingAllocator::allocate(std::size_t bytes, Stream stream) {
  const std::int64_t held = stats().current;
  check<OutOfMemory>(held + static_cast<std::int64_t>(bytes) <= limit_, "out of memory: asked for ", bytes,
                     " bytes on ", stream.device, "; ", held, " in use of a limit of ", limit_,
                     ". Try a smaller micro-batch and more accumulation");
  return CountingAllocator::allocate(bytes, stream);
}

void* FailingAllocator::allocate(std::size_t bytes, Stream stream) {
  check<OutOfMemory>(--left_ != 0, "out of memory: asked for ", bytes, " bytes on ", stream.device,
                     "; this allocation was set to fail");
  return inner().allocate(bytes, stream);
}

namespace {
constexpr std::size_t kGuard = Allocator::kAlignment;
constexpr unsigned char kGuardByte = 0xA5, kPoison = 0xFF;
}  // namespace

bool PoisoningAllocator::intact(const void* p, std::size_t bytes) {
  const auto* b = static_cast<const unsigned char*>(p);
  const auto whole = [](unsigned char c) { return c == kGuardByte; };
  return std::all_of(b - kGuard, b, whole) && std::all_of(b + bytes, b + bytes + kGuard, whole);
}

void* PoisoningAllocator::allocate(std::size_t bytes, Stream stream) {
  if (bytes == 0) return nullptr;
  auto* b = static_cast<unsigned char*>(inner().allocate(bytes + 2 * kGuard, stream));
  std::memset(b, kGuardByte, kGuard);
  std::memset(b + kGuard, kPoison, bytes);
  std::memset(b + kGuard + bytes, kGuardByte, kGuard);
  return b + kGuard;
}

void PoisoningAllocator::deallocate(void* p, std::size_t bytes, Stream stream) noexcept {
  if (!p) return;
  if (!intact(p, bytes)) ++damaged_;
  std::memset(p, kPoison, bytes);
  inner().deallocate(static_cast<unsigned char*>(p) - kGuard, bytes + 2 * kGuard, stream);
}

}  // namespace reel
