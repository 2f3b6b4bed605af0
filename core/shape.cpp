#include "reel/core/shape.h"

#include <algorithm>
#include <ostream>

namespace reel {

Dims::Dims(std::span<const std::int64_t> d) {
  check<ShapeError>(d.size() <= kMaxRank, "shape: ", d.size(), " dimensions, but at most ", kMaxRank, " are supported");
  std::ranges::copy(d, d_.begin());
  rank_ = static_cast<int>(d.size());
}

Dims Dims::filled(int rank, std::int64_t value) {
  Dims d;
  for (int i = 0; i < rank; ++i) d.push_back(value);
  return d;
}

void Dims::push_back(std::int64_t v) {
  insert(rank_, v);
}

void Dims::insert(int at, std::int64_t v) {
  check<ShapeError>(rank_ < kMaxRank, "shape: ", rank_ + 1, " dimensions, but at most ", kMaxRank, " are supported");
  for (int i = rank_; i > at; --i) (*this)[i] = (*this)[i - 1];
  (*this)[at] = v;
  ++rank_;
}

void Dims::erase(int at) {
  for (int i = at; i + 1 < rank_; ++i) (*this)[i] = (*this)[i + 1];
  --rank_;
}

std::ostream& operator<<(std::ostream& os, const Dims& d) {
  os << '[';
  for (int i = 0; i < d.rank(); ++i) os << (i ? ", " : "") << d[i];
  return os << ']';
}

std::string to_string(const Dims& d) {
  std::ostringstream os;
  os << d;
  return os.str();
}

std::int64_t numel(const Shape& s) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  std::int64_t n = 1;
  bool overflow = false, empty = false;
  for (const std::int64_t d : s) {
    if (d <= 0) {
      check<ShapeError>(d == 0, "shape: negative size in ", s);
      empty = true;
    } else {  // strides are products too, so even an empty shape must not overflow
      overflow = overflow || __builtin_mul_overflow(n, d, &n) || n > kMost;
    }
  }
  check<ShapeError>(!overflow, "shape: ", s, " has more than 2^62 elements");
  return empty ? 0 : n;
}

void set_row_major(const Shape& s, Strides& strides) {
  strides = s;
  std::int64_t step = 1;
  for (int i = s.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<std::int64_t>(s[i], 1);
  }
}
Strides row_major(const Shape& s) {
  Strides strides;
  set_row_major(s, strides);
  return strides;
}

Strides channels_last(const Shape& s) {
  check<ShapeError>(s.rank() == 4, "channels_last: needs 4 dimensions, but the shape is ", s);
  return {s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]};
}

Shape broadcast(const Shape& a, const Shape& b, std::string_view op) {
  if (a == b) return a;
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape out = longer;
  const int shift = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    const std::int64_t x = longer[i + shift], y = shorter[i];
    check<ShapeError>(x == y || x == 1 || y == 1, op, ": shapes do not broadcast: ", a, ", ", b,
                      ". Sizes must be equal or 1, counted from the last dimension");
    out[i + shift] = x == 1 ? y : x;
  }
  return out;
}

int normalize_dim(int dim, const Shape& s, std::string_view op) {
  const int r = std::max(s.rank(), 1);  // a scalar may be addressed as if it had one dimension
  check<IndexError>(dim >= -r && dim < r, op, ": dimension ", dim, " is out of range for shape ", s);
  return dim < 0 ? dim + r : dim;
}

}  // namespace reel
