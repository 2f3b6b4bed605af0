#pragma once
// Sizes of a tensor: at most eight dimensions, kept inline, with checked arithmetic.
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "reel/core/error.h"

namespace reel {

inline constexpr int kMaxRank = 8;

/// Up to eight 64-bit numbers, one for each dimension. `Shape` and strides are both of this type.
class Dims {
 public:
  Dims() = default;
  // Copies element by element: a wide copy right after narrow writes would wait for the store buffer.
  Dims(const Dims& o) { assign(o); }
  Dims& operator=(const Dims& o) {
    assign(o);
    return *this;
  }
  Dims(std::initializer_list<std::int64_t> d) : Dims(std::span(d.begin(), d.size())) {}
  explicit Dims(std::span<const std::int64_t> d);
  static Dims filled(int rank, std::int64_t value);

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  std::int64_t operator[](int i) const { return d_[static_cast<unsigned>(i)]; }
  std::int64_t& operator[](int i) { return d_[static_cast<unsigned>(i)]; }
  std::int64_t back() const { return d_[static_cast<unsigned>(rank_ - 1)]; }
  const std::int64_t* begin() const { return d_.data(); }
  const std::int64_t* end() const { return d_.data() + rank_; }

  void push_back(std::int64_t v);
  void insert(int at, std::int64_t v);
  void erase(int at);

  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  void assign(const Dims& o) {
    rank_ = o.rank_;
    d_[0] = o.d_[0];  // the two most common ranks without a loop
    d_[1] = o.d_[1];
    for (int i = 2; i < o.rank_; ++i) d_[static_cast<unsigned>(i)] = o.d_[static_cast<unsigned>(i)];
  }

  std::array<std::int64_t, kMaxRank> d_;  // the first rank_ are set
  int rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;

std::ostream& operator<<(std::ostream& os, const Dims& d);  ///< "[2, 3]"
std::string to_string(const Dims& d);

/// Number of elements. Throws ShapeError for a negative size or a product beyond 2^62.
std::int64_t numel(const Shape& s);
/// Strides, in elements, of a row-major tensor of this shape.
Strides row_major(const Shape& s);
void set_row_major(const Shape& s, Strides& strides);
/// Strides of a tensor [n, c, h, w] whose channels are stored last (nhwc).
Strides channels_last(const Shape& s);
/// The shape that both broadcast to (NumPy's rule). `op` is named in the error.
Shape broadcast(const Shape& a, const Shape& b, std::string_view op);
/// -1 is the last dimension. Throws IndexError that names `op` and the shape.
int normalize_dim(int dim, const Shape& s, std::string_view op);

}  // namespace reel
