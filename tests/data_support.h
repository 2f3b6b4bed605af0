#pragma once
// What the tests of data/ share: a folder that disappears, files, gzip content made without zlib.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "reel/core/error.h"
#include "reel/data/file.h"

namespace reel::test {

/// A new folder, removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "reel-data-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder can be made");
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

inline std::string put_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  return path;
}

inline std::string get_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The bytes of `v`, lowest first or (big) highest first.
inline std::string number(std::uint64_t v, int bytes, bool big = false) {
  std::string s;
  for (int i = 0; i < bytes; ++i) s += static_cast<char>(v >> 8 * (big ? bytes - 1 - i : i));
  return s;
}

/// `content` as a gzip member of stored blocks (RFC 1951, 1952).
inline std::string gzip_stored(const std::string& content) {
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  std::size_t at = 0;
  do {
    const std::size_t n = std::min<std::size_t>(content.size() - at, 65535);
    out += at + n == content.size() ? '\1' : '\0';
    out += number(n, 2) + number(~n, 2) + content.substr(at, n);
    at += n;
  } while (at < content.size());
  std::uint32_t crc = ~0u;
  for (const unsigned char c : content) {
    crc ^= c;
    for (int k = 0; k < 8; ++k) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0u);
  }
  return out + number(~crc, 4) + number(content.size(), 4);
}

/// Whether the library can read gzip content.
inline bool has_zlib() {
  const TemporaryFolder folder;
  try {
    return data::read_file(put_file(folder / "probe", gzip_stored("x"))) == "x";
  } catch (const DataError&) {
    return false;
  }
}

/// The message of the E that `call` throws; "" when it throws nothing. Other errors pass through.
template <class E = DataError, class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const E& e) {
    return e.what();
  }
  return "";
}

/// A safetensors file with this header.
inline std::string file_of(const std::string& header, const std::string& content = "") {
  return number(header.size(), 8) + header + content;
}

/// One entry of such a header.
inline std::string entry(const std::string& name,
                         const std::string& dtype,
                         const std::string& shape,
                         std::uint64_t begin,
                         std::uint64_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

}  // namespace reel::test
