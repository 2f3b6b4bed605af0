#pragma once
// Numbers as people read them.
#include <cstdint>
#include <string>

namespace reel::train {

std::string fixed(double v, int digits);     ///< 0.0312; "nan" and "inf" too
std::string significant(double v);           ///< three digits: 0.00213, 1.5e-06
std::string percent(double share);           ///< 91.24 %
std::string grouped(std::int64_t n);         ///< 60,000
std::string bytes_text(std::int64_t bytes);  ///< 12.3 MiB
std::string duration(double seconds);        ///< 8 s, 2:05, 1:02:05

}  // namespace reel::train
