#include "reel/examples/train/text.h"

#include <cmath>
#include <cstdio>

namespace reel::train {
namespace {

template <class... A>
std::string print(const char* format, A... a) {
  char buffer[400];  // the longest double in %f has 309 digits before the point
  std::snprintf(buffer, sizeof buffer, format, a...);
  return buffer;
}

}  // namespace

std::string fixed(double v, int digits) {
  return std::isnan(v) ? "nan" : print("%.*f", digits, v);
}

std::string significant(double v) {
  return print("%.3g", v);
}

std::string percent(double share) {
  return std::isnan(share) ? "-" : print("%.2f %%", 100 * share);
}

std::string grouped(std::int64_t n) {
  std::string s = std::to_string(n);
  for (std::int64_t i = static_cast<std::int64_t>(s.size()) - 3; i > (n < 0 ? 1 : 0); i -= 3)
    s.insert(static_cast<std::size_t>(i), ",");
  return s;
}

std::string bytes_text(std::int64_t bytes) {
  double v = static_cast<double>(bytes);
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int u = 0;
  for (; v >= 1024 && u < 4; ++u) v /= 1024;
  return print(u == 0 ? "%.0f %s" : "%.1f %s", v, units[u]);
}

std::string duration(double seconds) {
  if (!(seconds < 1e9)) return "?";
  const auto s = static_cast<long long>(std::llround(seconds));
  if (s < 10) return print("%.1f s", seconds);
  if (s < 60) return print("%lld s", s);
  if (s < 3600) return print("%lld:%02lld", s / 60, s % 60);
  return print("%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace reel::train
