#include "reel/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "reel/data/file.h"

namespace reel::data {
namespace {

constexpr int kPixels = 64;
constexpr std::size_t kLongestLine = 512;        // 65 numbers of two digits need 194
constexpr std::int64_t kMostLines = 10'000'000;  // what a small compressed file may unfold to

/// Splits a file into lines with one buffer, so that memory does not depend on the file's size.
class Lines {
 public:
  explicit Lines(const std::string& path) : reader_(path) { buffer_.resize(1 << 16); }

  /// False at the end. The text is valid until the next call; "\n" or "\r\n" is removed.
  bool next(std::string_view& line) {
    for (;;) {
      const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
      const std::size_t length = rest.find('\n');
      if (length != rest.npos || (at_end_ && !rest.empty())) {
        line = rest.substr(0, length);
        begin_ += std::min(rest.size(), line.size() + 1);
        ++number_;
        require_short(line.size());
        if (line.ends_with('\r')) line.remove_suffix(1);
        return true;
      }
      if (at_end_) return false;
      ++number_;  // for the message only
      require_short(rest.size());
      --number_;
      std::memmove(buffer_.data(), rest.data(), rest.size());
      begin_ = 0;
      end_ = rest.size();
      const std::size_t got = reader_.read_some(buffer_.data() + end_, buffer_.size() - end_);
      end_ += got;
      at_end_ = got == 0;
    }
  }
  std::int64_t number() const { return number_; }

 private:
  void require_short(std::size_t length) const {
    check<DataError>(length <= kLongestLine, reader_.path(), ":", number_, ": the line has ", length,
                     " or more characters, but 65 numbers need at most ", kLongestLine);
  }

  Reader reader_;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::int64_t number_ = 0;
  bool at_end_ = false;
};

/// Parses the 65 fields of a line into `values`.
void parse(const std::string& path, std::int64_t number, std::string_view line, std::uint8_t* values) {
  const char *at = line.data(), *const end = at + line.size();
  for (int field = 0; field <= kPixels; ++field) {
    const int most = field < kPixels ? 16 : 9;
    int v = -1;
    const auto [stop, error] = std::from_chars(at, end, v);
    const std::string_view text(at, static_cast<std::size_t>(std::find(at, end, ',') - at));
    check<DataError>(error == std::errc{} && stop == text.end() && v >= 0 && v <= most, path, ":", number, ": field ",
                     field + 1, " is '", text.substr(0, 20), "', but ",
                     field < kPixels ? "a pixel is a number 0..16" : "the label is a number 0..9");
    values[field] = static_cast<std::uint8_t>(v);
    const bool last = field == kPixels;
    check<DataError>((stop == end) == last, path, ":", number, ": the line has ", last ? "more than 65" : "only ",
                     last ? "" : std::to_string(field + 1), " fields, but 64 pixels and a label are needed");
    at = stop + 1;
  }
}

}  // namespace

Samples read_digits_csv(const std::string& path) {
  Lines lines(path);
  std::vector<std::uint8_t> pixels, labels;
  std::string_view line;
  while (lines.next(line)) {
    check<DataError>(lines.number() <= kMostLines, path, ": has more than ", kMostLines, " lines");
    std::uint8_t values[kPixels + 1];
    parse(path, lines.number(), line, values);
    pixels.insert(pixels.end(), values, values + kPixels);
    labels.push_back(values[kPixels]);
  }
  const auto n = static_cast<std::int64_t>(labels.size());
  return {Tensor::from({n, 1, 8, 8}, pixels), Tensor::from({n}, labels)};
}

}  // namespace reel::data
