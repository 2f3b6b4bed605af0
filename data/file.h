#pragma once
// Files: read from front to back with known bounds, and replaced as a whole or not at all.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "reel/core/tensor.h"

namespace reel::data {

/// Reads one regular file from front to back. Content that begins like gzip (1f 8b) is inflated on
/// the way, whatever the name of the file is.
class Reader {
 public:
  enum class Content {
    any,    ///< plain or gzip
    plain,  ///< the bytes as they are, even where they look like gzip
  };

  /// Throws IoError when the file cannot be opened or is no regular file; DataError when it is
  /// compressed and the library was built without zlib.
  explicit Reader(const std::string& path, Content content = Content::any);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  const std::string& path() const { return path_; }
  /// Bytes that are left. Known for a plain file only: a compressed one tells its size at its end.
  std::optional<std::int64_t> remaining() const;
  /// Up to `n` bytes; fewer only at the end. Throws IoError; DataError for damaged gzip content.
  std::size_t read_some(void* to, std::size_t n);
  /// Exactly `n` bytes. Throws DataError that names `what` when the file ends before.
  void read(void* to, std::size_t n, const char* what);
  /// Exactly all that is left, as u8 of this shape. Throws DataError, with both sizes, when the
  /// file holds less or more. Memory for compressed content: at most 1 MiB and
  /// three times the bytes that were really there, whatever `shape` announces.
  Tensor read_rest(const Shape& shape);

 private:
  struct Inflater;
  std::size_t read_plain(void* to, std::size_t n);
  Tensor read_rest_growing(std::int64_t count);

  std::string path_;
  int fd_ = -1;
  std::int64_t size_ = 0, position_ = 0;  // in the file, before inflating
  std::unique_ptr<Inflater> inflater_;
};

/// The whole content, inflated where it is gzip. Throws as Reader does, and DataError above `limit`
/// bytes.
std::string read_file(const std::string& path, std::int64_t limit = std::int64_t{1} << 30);

/// Where the new content of a file goes.
class Writer {
 public:
  virtual ~Writer() = default;
  /// Throws IoError, for example on a full disk.
  virtual void write(const void* from, std::size_t n) = 0;
};

/// Replaces the file at `path` by what `writer` writes, or leaves it as it was: the content goes to
/// a temporary file in the same folder, is forced to the disk, and is then renamed. Whatever
/// `writer` throws passes through; the system's refusals are IoError. After an error the old file
/// is untouched and the temporary one is gone; after a kill or a power cut the old or the new file
/// is there, whole, and at worst a file ".NAME.tmp-*" that may be deleted. A symbolic link at
/// `path` is replaced.
void write_atomically(const std::string& path, const std::function<void(Writer&)>& writer);

}  // namespace reel::data
