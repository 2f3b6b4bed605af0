#include "reel/core/device.h"

#include <ostream>

#include "reel/core/error.h"

namespace reel {

std::ostream& operator<<(std::ostream& os, Device d) {
  if (d.type == DeviceType::cpu) return os << "cpu";
  return os << "cuda:" << int{d.index};
}

Device device_from(const std::string& text) {
  if (text == "cpu") return Device::cpu();
  if (text == "cuda") return Device::cuda(0);
  if (text.size() == 6 && text.starts_with("cuda:") && text[5] >= '0' && text[5] <= '9')
    return Device::cuda(text[5] - '0');
  fail<DeviceError>("device: unknown name \"", text, "\". Use cpu, cuda or cuda:N with N from 0 to 9");
}

void require_usable(Device d) {
  check<DeviceError>(d.type == DeviceType::cpu, "device: ", d,
                     " cannot be used: this build has no CUDA backend. Use cpu");
}

}  // namespace reel
