#include "reel/examples/train/folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "reel/core/error.h"

namespace reel::train {
namespace {

namespace fs = std::filesystem;

constexpr const char* kParent = "runs";
constexpr const char* kFiles[] = {kCheckpointFile, kLogFile, kCurvesFile};

/// The folder itself, or the nearest one above it that exists, must take new files.
void require_writable(const fs::path& folder) {
  std::error_code error;
  fs::path at = fs::absolute(folder, error);
  while (!fs::exists(at, error) && at.has_relative_path()) at = at.parent_path();
  check<IoError>(fs::is_directory(at, error), "--out ", folder.string(), ": ", at.string(), " is no folder");
  check<IoError>(::access(at.c_str(), W_OK | X_OK) == 0, "--out ", folder.string(), ": ", at.string(),
                 " cannot be written: ", std::strerror(errno));
}

}  // namespace

std::string checkpoint_path(const Command& c) {
  return c.resume_file.empty() ? (fs::path(c.out) / kCheckpointFile).string() : c.resume_file;
}

std::string asked_folder(const Command& c) {
  if (!c.out.empty() || !c.resume) return c.out;
  const fs::path folder = fs::path(c.resume_file).parent_path();
  return folder.empty() ? "." : folder.string();
}

void require_free(const Command& c, const std::string& folder) {
  require_writable(folder.empty() ? kParent : folder);
  if (folder.empty() || c.overwrite) return;
  std::error_code error;
  const bool same = c.resume && fs::equivalent(fs::path(folder) / kCheckpointFile, checkpoint_path(c), error);
  if (same) return;
  for (const char* file : kFiles)
    check<ValueError>(!fs::exists(fs::path(folder) / file, error), "--out ", folder, ": holds ", file,
                      " of an earlier run. Go on with it by --resume, replace it by --overwrite, or "
                      "choose another folder");
}

std::string make_folder(const std::string& folder, const Settings& s) {
  std::error_code error;
  if (!folder.empty()) {
    fs::create_directories(folder, error);
    check<IoError>(fs::is_directory(folder), "--out ", folder, ": cannot be made: ", error.message());
    return folder;
  }
  fs::create_directories(kParent, error);
  const std::string data = fs::path(s.data).lexically_normal().filename().string();
  const std::string stem = std::string(kParent) + "/" + (data.empty() ? "data" : data) + "-" + s.model + "-";
  for (int n = 1;; ++n) {
    const std::string name = stem + std::to_string(n);
    if (fs::create_directory(name, error)) return name;  // false where it exists
    check<IoError>(fs::exists(name), name, ": cannot be made: ", error.message());
  }
}

void clean(const std::string& folder, bool results) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    for (const std::string file : kFiles)
      if (name.starts_with("." + file + ".tmp-") || (results && name == file && file != kLogFile))
        fs::remove(entry.path(), ignored);
  }
}

}  // namespace reel::train
