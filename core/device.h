#pragma once
// Where numbers live, and the queue that work on them is put in.
#include <cstdint>
#include <iosfwd>
#include <string>

namespace reel {

enum class DeviceType : std::uint8_t { cpu, cuda };

/// A processor with its memory.
struct Device {
  DeviceType type = DeviceType::cpu;
  std::int8_t index = 0;

  static constexpr Device cpu() { return {}; }
  static constexpr Device cuda(int i = 0) { return {DeviceType::cuda, static_cast<std::int8_t>(i)}; }
  friend bool operator==(const Device&, const Device&) = default;
};

std::ostream& operator<<(std::ostream& os, Device d);  ///< "cpu", "cuda:0"
/// Parses "cpu", "cuda" or "cuda:1"; throws DeviceError for anything else.
Device device_from(const std::string& text);
/// Throws DeviceError, with the reason and what to do, unless tensors can be made on `d`.
void require_usable(Device d);

/// A queue of work on a device. Memory freed on a stream may be reused by later work on it.
struct Stream {
  Device device;
  void* handle = nullptr;  ///< the backend's own stream; null is its default
};

}  // namespace reel
