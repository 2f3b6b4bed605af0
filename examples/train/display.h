#pragma once
// What people see: lines, and on a terminal a bar below them.
#include <chrono>
#include <cstdio>
#include <string>

namespace reel::train {

class Display {
 public:
  /// Writes to `out`; nothing at all when quiet, and no bar unless `out` is a terminal.
  Display(std::FILE* out, bool quiet);
  ~Display() { clear(); }
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  /// A line, or several, above the bar.
  void line(const std::string& text);
  /// A line on stderr, also when quiet.
  void warning(const std::string& text);
  /// Draws `head [===>  ] tail`, at most ten times a second, cut to the width of the terminal.
  /// `make` gives share done, head and tail, and is called only when there is something to draw.
  template <class Make>
  void bar(const Make& make) {
    if (!due()) return;
    const auto [share, head, tail] = make();
    draw(share, head, tail);
  }
  void clear();  ///< removes the bar

 private:
  bool due();
  void draw(double share, const std::string& head, const std::string& tail);

  std::FILE* out_;
  bool quiet_, terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace reel::train
