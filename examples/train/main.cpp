// reel-train: trains an image classifier from the command line. Start reading in trainer.cpp, which
// has the training loop; session.cpp has what is shown and written around it.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>

#include "reel/core/error.h"
#include "reel/core/log.h"
#include "reel/examples/train/session.h"

using namespace reel;

namespace {

/// Everything that goes wrong is told in one line.
int report(const char* message, int code) {
  std::string line = message;
  std::ranges::replace(line, '\n', ' ');
  std::fprintf(stderr, "reel-train: %s\n", line.c_str());
  return code;
}

void show_log(train::LogDetail detail, train::Display& display) {
  set_log_callback([detail, &display](LogLevel level, std::string_view text) {
    const auto least = level == LogLevel::warning ? train::LogDetail::warning : train::LogDetail::info;
    if (detail >= least) display.warning(std::string(text));
  });
}

int train_as_told(int argc, char** argv, int& failure) {
  train::Command command;
  if (const std::optional<int> code = train::parse(argc, argv, command)) return *code;
  train::Display display(command.json ? stderr : stdout, command.quiet);
  show_log(command.log_level, display);
  train::Session session(command, display);
  failure = 1;  // from here on it is not the caller who is wrong
  const int code = session.run();
  set_log_callback({});
  display.clear();
  if (code == 0 && command.json) std::cout << train::dump(session.result()) << std::endl;
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  int failure = 2;
  try {
    return train_as_told(argc, argv, failure);
  } catch (const OutOfMemory& e) {
    return report(e.what(), 1);
  } catch (const std::bad_alloc&) {
    return report("out of memory. Try a smaller --batch and more --accumulate", 1);
  } catch (const std::exception& e) {
    return report(e.what(), failure);
  }
}
