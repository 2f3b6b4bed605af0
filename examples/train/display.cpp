#include "reel/examples/train/display.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace reel::train {
namespace {

std::size_t columns(std::FILE* out) {
  winsize size{};
  constexpr std::size_t kUsual = 80;
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

bool is_terminal(std::FILE* out) {
  const char* kind = std::getenv("TERM");
  return ::isatty(::fileno(out)) && !(kind && std::strcmp(kind, "dumb") == 0);
}

}  // namespace

Display::Display(std::FILE* out, bool quiet) : out_(out), quiet_(quiet), terminal_(!quiet && is_terminal(out)) {}

void Display::line(const std::string& text) {
  if (quiet_) return;
  clear();
  std::fprintf(out_, "%s\n", text.c_str());
  std::fflush(out_);
}

void Display::warning(const std::string& text) {
  clear();
  std::fprintf(stderr, "reel-train: %s\n", text.c_str());
}

bool Display::due() {
  if (!terminal_) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(100)) return false;
  last_ = now;
  return true;
}

void Display::draw(double share, const std::string& head, const std::string& tail) {
  constexpr std::size_t kLongest = 30, kShortest = 5, kFrame = 4;  // "[] " and a space before it
  const std::size_t width = columns(out_) - 1, text = head.size() + tail.size() + kFrame;
  std::string line = head + " ";
  if (width >= text + kShortest) {
    const std::size_t n = std::min(kLongest, width - text);
    const auto done = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(n));
    std::string bar(n, ' ');
    std::fill_n(bar.begin(), done, '=');
    if (done < n) bar[done] = '>';
    line += "[" + bar + "] ";
  }
  line += tail;
  line.resize(std::min(line.size(), width));
  std::fprintf(out_, "\r%s\x1b[K", line.c_str());
  std::fflush(out_);
  drawn_ = true;
}

void Display::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", out_);
  std::fflush(out_);
  drawn_ = false;
}

}  // namespace reel::train
