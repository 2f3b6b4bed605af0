#pragma once
// Everything the library throws, and `check`, the one way to throw it.
#include <sstream>
#include <stdexcept>
#include <string>

namespace reel {

/// Root of everything this library throws. Catch this one at an API boundary.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// Sizes that do not fit together. The message names the op and every shape.
class ShapeError : public Error {
  using Error::Error;
};
/// A dtype that the op cannot take.
class DTypeError : public Error {
  using Error::Error;
};
/// An index, a label or a dimension number out of its range.
class IndexError : public Error {
  using Error::Error;
};
/// An option or a hyper-parameter outside its domain.
class ValueError : public Error {
  using Error::Error;
};
/// A wrong use of the tape: backward twice, a loss that is no scalar, a saved tensor changed in place.
class GradError : public Error {
  using Error::Error;
};
/// A call that the object's present state does not allow, such as step before backward.
class StateError : public Error {
  using Error::Error;
};
/// A device that is absent, unusable, or differs between the inputs of an op.
class DeviceError : public Error {
  using Error::Error;
};
/// The allocator had no memory to give.
class OutOfMemory : public Error {
  using Error::Error;
};
/// The operating system refused a file operation: open, read, write, rename.
class IoError : public Error {
  using Error::Error;
};
/// A file whose content is damaged, foreign, or contradicts its own header.
class DataError : public Error {
  using Error::Error;
};

/// Throws `E` with `parts` streamed together.
template <class E = Error, class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  throw E(text.str());
}

/// Throws `E` with `parts` streamed together, unless `ok`. Nothing is formatted when `ok`.
template <class E = Error, class... Parts>
inline void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail<E>(parts...);
}

}  // namespace reel
