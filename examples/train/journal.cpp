#include "reel/examples/train/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "reel/core/error.h"
#include "reel/examples/train/settings.h"

namespace reel::train {

Journal::Journal(const std::string& path) : path_(path) {
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  check<IoError>(fd_ >= 0, path, ": cannot be written: ", std::strerror(errno));
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(fd_);
  fail<IoError>(path, ": another run is writing here. Choose another --out, or wait");
}

Journal::~Journal() {
  try {
    flush();
  } catch (const IoError&) {  // whoever cares has called flush()
  }
  ::close(fd_);
}

bool Journal::start(const std::string& source, std::int64_t bytes) {
  std::string kept(static_cast<std::size_t>(bytes), '\0');
  std::ifstream in(source, std::ios::binary);
  in.read(kept.data(), bytes);
  kept.resize(static_cast<std::size_t>(in.gcount()));
  const bool complete = static_cast<std::int64_t>(kept.size()) == bytes;
  kept.resize(kept.rfind('\n') + 1);  // npos + 1 is 0
  // Lines of this very file that are kept are not written again: a kill cannot lose them.
  const auto stays = static_cast<off_t>(source == path_ ? kept.size() : 0);
  check<IoError>(::ftruncate(fd_, stays) == 0 && ::lseek(fd_, stays, SEEK_SET) == stays, path_,
                 ": cannot be cut: ", std::strerror(errno));
  written_ = stays;
  buffer_ = kept.substr(static_cast<std::size_t>(stays));
  flush();
  return complete;
}

void Journal::write(const nlohmann::ordered_json& object) {
  constexpr std::size_t kEnough = 1 << 14;
  buffer_ += dump(object) + '\n';
  if (buffer_.size() >= kEnough) flush();
}

void Journal::flush() {
  while (!buffer_.empty()) {
    const ssize_t n = ::write(fd_, buffer_.data(), buffer_.size());
    if (n < 0 && errno == EINTR) continue;
    check<IoError>(n > 0, path_, ": writing failed: ", std::strerror(errno));
    written_ += n;
    buffer_.erase(0, static_cast<std::size_t>(n));
  }
}

}  // namespace reel::train
