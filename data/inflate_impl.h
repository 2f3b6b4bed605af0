#pragma once
// Gzip content (RFC 1952, several members allowed), inflated piece by piece.
#if REEL_ZLIB
#include <zlib.h>

#include <algorithm>
#include <array>
#include <string>

#include "reel/core/error.h"

namespace reel::data {

class GzipInflater {
 public:
  GzipInflater() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    check<OutOfMemory>(inflateInit2(&stream_, kGzipOnly) == Z_OK, "gzip: zlib could not be started");
  }
  ~GzipInflater() { inflateEnd(&stream_); }
  GzipInflater(const GzipInflater&) = delete;
  GzipInflater& operator=(const GzipInflater&) = delete;

  /// Up to `n` bytes, fewer only at the end. `fetch(buffer, size)` gives compressed bytes, 0 at the
  /// end.
  template <class Fetch>
  std::size_t read(const std::string& path, void* to, std::size_t n, const Fetch& fetch) {
    std::size_t done = 0;
    while (done < n) {
      if (stream_.avail_in == 0) {
        stream_.avail_in = static_cast<uInt>(fetch(input_.data(), input_.size()));
        stream_.next_in = input_.data();
        if (stream_.avail_in == 0) {
          check<DataError>(between_members_, path, ": the gzip content is truncated after ", total_ + done,
                           " bytes. Fetch the file again");
          break;
        }
      }
      if (between_members_) inflateReset(&stream_);
      between_members_ = false;
      const auto room = static_cast<uInt>(std::min<std::size_t>(n - done, 1u << 30));
      stream_.next_out = static_cast<Bytef*>(to) + done;
      stream_.avail_out = room;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      done += room - stream_.avail_out;
      check<DataError>(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR, path,
                       ": the gzip content is damaged after ", total_ + done,
                       " bytes: ", stream_.msg ? stream_.msg : "unknown reason", ". Fetch the file again");
      between_members_ = status == Z_STREAM_END;  // the member's checksum has been compared
    }
    total_ += done;
    return done;
  }

 private:
  z_stream stream_{};
  std::array<Bytef, 1 << 16> input_;
  bool between_members_ = false;
  std::size_t total_ = 0;
};

}  // namespace reel::data
#endif
