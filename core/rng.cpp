#include "reel/core/rng.h"

#include <numeric>

#include "reel/core/parallel.h"
#include "reel/core/philox.h"

namespace reel {
namespace {

constexpr std::int64_t kGrain = 1 << 14;  // a multiple of four: a chunk is whole blocks

/// Fills a new tensor with four values a block, as `four` makes them from the words.
template <class Four>
Tensor fill_blocks(const Shape& shape, Generator& g, DType dtype, const Four& four) {
  Tensor t = Tensor::empty(shape, dtype);
  const std::int64_t n = t.numel();
  const std::uint64_t first = g.reserve(n);
  visit_floating(dtype, [&]<class T>() {
    T* const out = t.data<T>();
    parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; i += 4) {
        const auto v = four(philox_block(g.seed(), first + static_cast<std::uint64_t>(i) / 4));
        for (std::int64_t k = 0; k < std::min<std::int64_t>(4, end - i); ++k)
          out[i + k] = convert<T>(v[static_cast<unsigned>(k)]);
      }
    });
  });
  return t;
}

/// A whole number in [0, range) from 64 random bits; the bias is below range * 2^-64.
std::int64_t below(std::int64_t range, std::uint64_t bits) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::int64_t>((static_cast<Wide>(bits) * static_cast<std::uint64_t>(range)) >> 64);
}

}  // namespace

Tensor uniform(const Shape& shape, Generator& g, double low, double high, DType dtype) {
  const auto l = static_cast<float>(low), w = static_cast<float>(high - low);
  return fill_blocks(shape, g, dtype, [=](const Philox4& r) {
    std::array<float, 4> v;
    for (unsigned k = 0; k < 4; ++k) v[k] = std::fma(to_uniform(r[k]), w, l);
    return v;
  });
}

Tensor normal(const Shape& shape, Generator& g, double mean, double stddev, DType dtype) {
  const auto m = static_cast<float>(mean), s = static_cast<float>(stddev);
  return fill_blocks(shape, g, dtype, [=](const Philox4& r) {
    const auto a = to_normal(r[0], r[1]), b = to_normal(r[2], r[3]);
    return std::array<float, 4>{std::fma(a[0], s, m), std::fma(a[1], s, m), std::fma(b[0], s, m), std::fma(b[1], s, m)};
  });
}

Tensor random_integers(const Shape& shape, Generator& g, std::int64_t low, std::int64_t high) {
  check<ValueError>(low < high, "random_integers: empty range: low ", low, ", high ", high);
  Tensor t = Tensor::empty(shape, DType::i64);
  const std::uint64_t first = g.reserve(2 * t.numel());
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const Philox4 r = philox_block(g.seed(), first + static_cast<std::uint64_t>(i) / 2);
    const unsigned k = i & 1 ? 2 : 0;
    t.data<std::int64_t>()[i] = low + below(high - low, (std::uint64_t{r[k]} << 32) | r[k + 1]);
  }
  return t;
}

std::vector<std::int64_t> random_permutation(std::int64_t n, Generator& g) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t first = g.reserve(4 * n);
  for (std::int64_t i = n - 1; i > 0; --i) {
    const Philox4 r = philox_block(g.seed(), first + static_cast<std::uint64_t>(i));
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(below(i + 1, (std::uint64_t{r[0]} << 32) | r[1]))]);
  }
  return order;
}

}  // namespace reel
