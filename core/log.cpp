#include "reel/core/log.h"

#include <memory>
#include <mutex>

namespace reel {
namespace {
std::mutex g_mutex;
std::shared_ptr<LogCallback> g_callback;  // shared, so that a call in progress outlives a replacement
}  // namespace

void set_log_callback(LogCallback callback) {
  auto next = callback ? std::make_shared<LogCallback>(std::move(callback)) : nullptr;
  const std::lock_guard lock(g_mutex);
  g_callback = std::move(next);
}

void emit_log(LogLevel level, std::string_view text) noexcept {
  try {
    std::shared_ptr<LogCallback> now;
    {
      const std::lock_guard lock(g_mutex);
      now = g_callback;
    }
    if (now) (*now)(level, text);
  } catch (...) {  // a callback that throws must not bring the engine down
  }
}

}  // namespace reel
