#pragma once
// The library never prints. What it has to tell goes to one callback that the program owns.
#include <functional>
#include <sstream>
#include <string_view>

namespace reel {

enum class LogLevel { info, warning };
using LogCallback = std::function<void(LogLevel, std::string_view)>;

/// Replaces the callback for the whole process; an empty one (the start-up state) drops messages.
void set_log_callback(LogCallback callback);
void emit_log(LogLevel level, std::string_view text) noexcept;

template <class... Parts>
void log_info(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  emit_log(LogLevel::info, text.str());
}
template <class... Parts>
void log_warning(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  emit_log(LogLevel::warning, text.str());
}

}  // namespace reel
