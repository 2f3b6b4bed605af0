#pragma once
// Ctrl-C and SIGTERM: the first one asks the training loop to stop, the second one ends the
// process.

namespace reel::train {

/// Watches the two signals until the end of the process.
void watch_interrupts();
/// The signal that came, or 0.
int interrupted();

}  // namespace reel::train
