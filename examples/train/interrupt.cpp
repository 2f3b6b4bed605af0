#include "reel/examples/train/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <initializer_list>

namespace reel::train {
namespace {

volatile std::sig_atomic_t pending = 0;

extern "C" void on_signal(int signal) {
  if (pending != 0) _exit(128 + signal);
  pending = signal;
}

/// oneDNN's matrix products borrow the stack pointer for the heap: a handler on the usual stack
/// would overwrite whatever lies below it there.
void give_handlers_their_own_stack() {
  constexpr std::size_t kBytes = 1 << 16;  // the registers of AVX-512 and AMX take 11 KiB
  alignas(64) static std::byte memory[kBytes];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kBytes;
  sigaltstack(&stack, nullptr);
}

}  // namespace

void watch_interrupts() {
  give_handlers_their_own_stack();
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK | SA_RESTART;  // a file operation under way is not disturbed
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

int interrupted() {
  return pending;
}

}  // namespace reel::train
