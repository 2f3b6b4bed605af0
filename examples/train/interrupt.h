#pragma once
// Ctrl-C and SIGTERM: the first one asks the training loop to stop, the second one ends the
// process.

namespace reel::train {

/// Watches the two signals until the end of the process. Called by the main thread, which is the one
/// that the system gives them to.
void watch_interrupts();
/// The signal that came, or 0.
int interrupted();

}  // namespace reel::train
