// write_atomically: temporary file, fsync, rename, fsync of the folder.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "reel/data/file.h"

namespace reel::data {
namespace {

int open_retrying(const char* path, int flags, mode_t mode = 0) {
  int fd;
  do fd = ::open(path, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

int sync_retrying(int fd) {
  int status;
  do status = ::fsync(fd);
  while (status != 0 && errno == EINTR);
  return status;
}

/// An open descriptor that is closed, without a word, on the way out.
struct Descriptor {
  int fd;
  explicit Descriptor(int open) : fd(open) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

/// Collects small writes; removes the temporary file unless it was renamed.
class TemporaryFile final : public Writer {
 public:
  TemporaryFile(const std::string& target, const std::string& folder, const std::string& name)
      : target_(target), file_(-1) {
    buffer_.reserve(kBuffer);  // before the file exists: this can throw
    static std::atomic<unsigned> counter{0};
    constexpr std::size_t kNameKept = 180;  // leaves room for the suffix below NAME_MAX
    const std::string stem = folder + "/." + name.substr(0, kNameKept) + ".tmp-" + std::to_string(::getpid()) + "-";
    do {  // a name can be taken: by another thread's namesake or by what a killed process left
      path_ = stem + std::to_string(counter++);
      file_.fd = open_retrying(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    } while (file_.fd < 0 && errno == EEXIST);
    check<IoError>(file_.fd >= 0, target, ": cannot be written: no file can be made in ", folder, ": ",
                   std::strerror(errno), ". Check the folder and its permissions");
  }
  ~TemporaryFile() override {
    if (!renamed_) ::unlink(path_.c_str());
  }
  void write(const void* from, std::size_t n) override {
    if (buffer_.size() + n > kBuffer) flush();
    if (n >= kBuffer) return put(static_cast<const char*>(from), n);
    const char* p = static_cast<const char*>(from);
    buffer_.insert(buffer_.end(), p, p + n);
  }
  void commit() {
    flush();
    struct stat old {};
    if (::stat(target_.c_str(), &old) == 0) (void)::fchmod(file_.fd, old.st_mode & 0777);
    bool ok = sync_retrying(file_.fd) == 0;
    check<IoError>(ok, target_, ": cannot be forced to the disk: ", std::strerror(errno));
    // Some file systems tell of a failed write only here.
    ok = ::close(std::exchange(file_.fd, -1)) == 0 || errno == EINTR;
    check<IoError>(ok, target_, ": closing the new content failed: ", std::strerror(errno));
    ok = std::rename(path_.c_str(), target_.c_str()) == 0;
    check<IoError>(ok, target_, ": cannot be replaced: ", std::strerror(errno));
    renamed_ = true;
  }

 private:
  static constexpr std::size_t kBuffer = 1 << 16;

  void flush() {
    put(buffer_.data(), buffer_.size());
    buffer_.clear();
  }
  void put(const char* p, std::size_t n) {
    while (n > 0) {
      const ssize_t done = ::write(file_.fd, p, std::min<std::size_t>(n, std::size_t{1} << 30));
      if (done < 0 && errno == EINTR) continue;
      check<IoError>(done >= 0, target_, ": writing failed: ", std::strerror(errno), ". The old file is unchanged");
      p += done;
      n -= static_cast<std::size_t>(done);
    }
  }

  std::string target_, path_;
  Descriptor file_;
  std::vector<char> buffer_;
  bool renamed_ = false;
};

}  // namespace

void write_atomically(const std::string& path, const std::function<void(Writer&)>& writer) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  check<IoError>(!name.empty(), path, ": cannot be written: the path names no file");
  // Opened first, so that little can fail once the new file is in place.
  const Descriptor directory(open_retrying(folder.c_str(), O_RDONLY | O_DIRECTORY));
  check<IoError>(directory.fd >= 0, path, ": cannot be written: the folder ", folder,
                 " cannot be opened: ", std::strerror(errno), ". Make the folder first");
  {
    TemporaryFile file(path, folder, name);
    writer(file);
    file.commit();
  }
  // EINVAL: a file system that cannot sync folders has nothing to sync.
  const bool ok = sync_retrying(directory.fd) == 0 || errno == EINVAL || errno == ENOTSUP;
  check<IoError>(ok, path,
                 ": the new content is in place, but the folder cannot be forced to the disk: ", std::strerror(errno));
}

}  // namespace reel::data
