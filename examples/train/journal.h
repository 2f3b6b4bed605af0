#pragma once
// log.jsonl: one JSON object a line.
#include <string>

#include <nlohmann/json.hpp>

namespace reel::train {

/// Held open while a run lasts; two runs cannot hold the same one.
class Journal {
 public:
  /// Opens, or makes, the file and locks it; its content is not changed yet. Throws IoError, also
  /// when another process holds it.
  explicit Journal(const std::string& path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// The first line to be written comes after the first `bytes` bytes of `source`, which may be
  /// this very file: nothing else is kept. Gives false when `source` has fewer, and keeps what it
  /// has.
  bool start(const std::string& source = "", std::int64_t bytes = 0);
  /// Adds one line. It may wait in memory; NaN and infinity become null.
  void write(const nlohmann::ordered_json& object);
  /// Hands all lines to the system. Throws IoError.
  void flush();
  std::int64_t bytes() const { return written_ + static_cast<std::int64_t>(buffer_.size()); }

 private:
  std::string path_, buffer_;
  int fd_ = -1;
  std::int64_t written_ = 0;
};

}  // namespace reel::train
