#include "reel/data/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "reel/core/view.h"
#include "reel/data/inflate_impl.h"

namespace reel::data {
namespace {

static_assert(sizeof(off_t) == 8, "files beyond 2 GiB need 64-bit offsets");

constexpr std::size_t kFirstGrowth = std::size_t{1} << 20;

}  // namespace

#if REEL_ZLIB
struct Reader::Inflater : GzipInflater {};
#else
struct Reader::Inflater {};
#endif

Reader::Reader(const std::string& path, Content content) : path_(path) {
  do fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  while (fd_ < 0 && errno == EINTR);
  check<IoError>(fd_ >= 0, path, ": cannot be opened: ", std::strerror(errno), ". Check the path and its permissions");
  struct Closer {  // the destructor does not run when this constructor throws
    int& fd;
    bool armed = true;
    ~Closer() {
      if (armed) ::close(fd);
    }
  } closer{fd_};
  struct stat info {};
  const bool known = ::fstat(fd_, &info) == 0;
  check<IoError>(known, path, ": cannot be examined: ", std::strerror(errno));
  check<IoError>(S_ISREG(info.st_mode), path, ": is not a regular file. Give the path of a file");
  size_ = info.st_size;
  unsigned char magic[2] = {};
  ssize_t got;
  do got = ::pread(fd_, magic, 2, 0);
  while (got < 0 && errno == EINTR);
  if (content == Content::any && got == 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
#if REEL_ZLIB
    inflater_ = std::make_unique<Inflater>();
#else
    fail<DataError>(path,
                    ": is compressed with gzip, but this build has no zlib. Unpack it with gunzip, or "
                    "install zlib (zlib1g-dev) and build again");
#endif
  }
  closer.armed = false;
}

Reader::~Reader() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<std::int64_t> Reader::remaining() const {
  if (inflater_) return std::nullopt;
  return std::max<std::int64_t>(0, size_ - position_);
}

std::size_t Reader::read_plain(void* to, std::size_t n) {
  std::size_t done = 0;
  while (done < n) {
    const std::size_t ask = std::min<std::size_t>(n - done, std::size_t{1} << 30);
    const ssize_t got = ::read(fd_, static_cast<char*>(to) + done, ask);
    if (got < 0 && errno == EINTR) continue;
    check<IoError>(got >= 0, path_, ": reading failed at byte ", position_, ": ", std::strerror(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
    position_ += got;
  }
  return done;
}

std::size_t Reader::read_some(void* to, std::size_t n) {
#if REEL_ZLIB
  if (inflater_) return inflater_->read(path_, to, n, [this](void* b, std::size_t m) { return read_plain(b, m); });
#endif
  return read_plain(to, n);
}

void Reader::read(void* to, std::size_t n, const char* what) {
  const std::size_t got = read_some(to, n);
  check<DataError>(got == n, path_, ": is truncated: ", what, " needs ", n, " bytes, but ", got,
                   " are left. Fetch the file again");
}

Tensor Reader::read_rest(const Shape& shape) {
  std::int64_t count = 1, strides = 1;  // strides are computed even where a size is 0
  for (const std::int64_t d : shape) {
    const bool fits = d >= 0 && !__builtin_mul_overflow(strides, std::max<std::int64_t>(d, 1), &strides);
    check<DataError>(fits, path_, ": the header announces ", shape, ", more bytes than any file holds");
    count *= d;
  }
  if (inflater_) return *view::try_reshape(read_rest_growing(count), shape);

  check<DataError>(*remaining() == count, path_, ": the header announces ", shape, " = ", count, " bytes, but ",
                   *remaining(), " follow. Fetch the file again");
  Tensor t = Tensor::empty(shape, DType::u8);
  read(t.raw(), static_cast<std::size_t>(count), "the data");
  return t;
}

Tensor Reader::read_rest_growing(std::int64_t count) {
  const auto wanted = static_cast<std::size_t>(count);
  std::size_t capacity = std::min(wanted, kFirstGrowth), have = 0;
  Tensor t = Tensor::empty({static_cast<std::int64_t>(capacity)}, DType::u8);
  for (;;) {
    const std::size_t got = read_some(t.raw() + have, capacity - have);
    have += got;
    check<DataError>(have == capacity, path_, ": the header announces ", count, " bytes, but ", have,
                     " follow. Fetch the file again");
    if (capacity == wanted) break;
    // The header is believed only as far as content has backed it: room doubles.
    capacity = std::min(wanted, capacity * 2);
    Tensor larger = Tensor::empty({static_cast<std::int64_t>(capacity)}, DType::u8);
    std::memcpy(larger.raw(), t.raw(), have);
    t = std::move(larger);
  }
  char beyond;
  check<DataError>(read_some(&beyond, 1) == 0, path_, ": the header announces ", count, " bytes, but more than ", count,
                   " follow. Fetch the file again");
  return t;
}

std::string read_file(const std::string& path, std::int64_t limit) {
  Reader reader(path);
  const auto most = static_cast<std::size_t>(limit);
  const std::optional<std::int64_t> size = reader.remaining();
  check<DataError>(!size || *size <= limit, path, ": holds ", size.value_or(0), " bytes, but at most ", limit,
                   " are expected");
  std::string text;
  for (;;) {
    // A plain file tells its size; one byte more is asked for, so that its end is seen.
    const std::size_t have = text.size();
    const std::optional<std::int64_t> left = reader.remaining();
    const std::size_t chunk = left ? static_cast<std::size_t>(*left) + 1 : std::max(kFirstGrowth, have);
    text.resize(std::min(have + chunk, most + 1));
    const std::size_t asked = text.size() - have, got = reader.read_some(text.data() + have, asked);
    text.resize(have + got);
    check<DataError>(text.size() <= most, path, ": holds more than ", limit, " bytes, the most that is expected");
    if (got < asked) break;
  }
  return text;
}

}  // namespace reel::data
