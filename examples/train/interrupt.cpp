#include "reel/examples/train/interrupt.h"

#include <csignal>
#include <initializer_list>

#include <unistd.h>

namespace reel::train {
namespace {

volatile std::sig_atomic_t pending = 0;

extern "C" void on_signal(int signal) {
  if (pending != 0) _exit(128 + signal);
  pending = signal;
}

}  // namespace

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // a file operation under way is not disturbed
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

int interrupted() {
  return pending;
}

}  // namespace reel::train
