#pragma once
// Runs reel-train as a user does, as a process of its own.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "reel/tests/data_support.h"
#include "reel/tests/support/catch.h"

namespace reel::test {

using Words = std::vector<std::string>;

inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Finished {
  int code = -1;  ///< exit code; 128 + signal for a killed one
  std::string out, err;

  nlohmann::json json() const {  ///< of the last line of stdout
    const std::string lines = out.substr(0, out.find_last_not_of('\n') + 1);
    return nlohmann::json::parse(lines.substr(lines.rfind('\n') + 1));
  }
};

/// A training process under way.
class Training {
 public:
  Training(const TemporaryFolder& folder, const Words& arguments) : out_(folder / "stdout"), err_(folder / "stderr") {
    Words all = Words{REEL_TRAIN_PROGRAM} + arguments;
    std::vector<char*> argv;
    for (std::string& a : all) argv.push_back(a.data());
    argv.push_back(nullptr);
    for (const std::string& old : {out_, err_}) std::filesystem::remove(old);
    // The test framework's handlers of signals are not for the child, not even for a moment.
    sigset_t all_signals, before;
    sigfillset(&all_signals);
    sigprocmask(SIG_SETMASK, &all_signals, &before);
    pid_ = fork();
    if (pid_ == 0)
      for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    if (chdir(folder.path().c_str()) != 0) _exit(126);
    dup2(open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    execv(argv[0], argv.data());
    _exit(127);
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
  ~Training() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  void send(int signal) const {
    if (pid_ > 0) kill(pid_, signal);
  }

  bool running() {
    if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = 0;
    return pid_ > 0;
  }
  /// Waits until `condition` holds or the process is gone.
  void wait_until(const std::function<bool()>& condition) {
    while (running() && !condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Finished wait() {
    if (pid_ > 0) waitpid(pid_, &status_, 0);
    pid_ = 0;
    const int code = WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
    return {code, get_file(out_), get_file(err_)};
  }

 private:
  std::string out_, err_;
  pid_t pid_ = -1;
  int status_ = 0;
};

inline Finished run_train(const TemporaryFolder& folder, const Words& arguments) {
  return Training(folder, arguments).wait();
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

/// The objects of a log, less the times in them.
inline std::vector<nlohmann::json> log_without_times(const std::string& path) {
  std::vector<nlohmann::json> objects;
  for (const std::string& line : lines_of(get_file(path))) {
    nlohmann::json o = nlohmann::json::parse(line);
    for (const char* time : {"seconds", "train_seconds", "images_per_second", "peak_bytes"}) o.erase(time);
    objects.push_back(o);
  }
  return objects;
}

/// Name and content of every file below a folder.
inline std::map<std::string, std::string> content_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  if (!std::filesystem::exists(folder)) return files;
  for (const auto& e : std::filesystem::recursive_directory_iterator(folder))
    if (e.is_regular_file()) files[e.path().string()] = get_file(e.path().string());
  return files;
}

/// On one core: threads that wait for each other are slow where other programs run too.
inline const Words kDigits = {"--data", "digits", "--threads", "1"};
inline const Words kTiny = kDigits + Words{"--model", "mlp", "--epochs", "2", "--batch", "64"};

}  // namespace reel::test
