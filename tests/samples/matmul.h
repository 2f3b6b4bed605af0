#pragma once
#include "reel/autograd/ops/matmul.h"
#include "reel/core/view.h"
#include "reel/tests/support/samples.h"

namespace reel::test {

/// By the definition: three nested loops for each matrix of the batch.
inline Reference matmul_reference(bool ta, bool tb) {
  return [=](const std::vector<Tensor>& in) {
    Tensor a = ta ? view::transpose(in[0], -2, -1) : in[0], b = tb ? view::transpose(in[1], -2, -1) : in[1];
    Shape la = a.shape(), lb = b.shape();
    const std::int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
    for (int i = 0; i < 2; ++i) {
      la.erase(la.rank() - 1);
      lb.erase(lb.rank() - 1);
    }
    const Shape lead = broadcast(la, lb, "reference");
    const auto full = [&](std::int64_t x, std::int64_t y) {
      Shape s = lead;
      s.push_back(x);
      s.push_back(y);
      return s;
    };
    const Values va = view::expand(a, full(m, k)).to_vector<double>(),
                 vb = view::expand(b, full(k, n)).to_vector<double>();
    Values c(static_cast<std::size_t>(numel(full(m, n))));
    for (std::int64_t z = 0; z < numel(lead); ++z)
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t l = 0; l < k; ++l)
            c[static_cast<std::size_t>((z * m + i) * n + j)] +=
                va[static_cast<std::size_t>((z * m + i) * k + l)] * vb[static_cast<std::size_t>((z * k + l) * n + j)];
    return std::vector<Values>{c};
  };
}

template <>
struct Samples<MatMul> {
  static std::vector<Sample> list() {
    std::vector<Sample> all;
    const auto add = [&](Shape a, Shape b, bool ta, bool tb, std::int64_t k, bool gradient = true) {
      all.push_back({op<MatMul>(ta, tb), {values(a), values(b)}, matmul_reference(ta, tb), gradient ? ~0u : 0u, k});
    };
    add({2, 3}, {3, 4}, false, false, 3);
    add({3, 2}, {3, 4}, true, false, 3);
    add({2, 3}, {4, 3}, false, true, 3);
    add({3, 2}, {4, 3}, true, true, 3);
    add({1, 1}, {1, 1}, false, false, 1);
    add({5, 1, 2, 3}, {4, 3, 2}, false, false, 3);  // the batch broadcasts
    add({2, 3, 4}, {4, 5}, false, false, 4);        // one matrix for all
    add({2, 4, 3}, {2, 5, 4}, true, true, 4);
    add({0, 3}, {3, 2}, false, false, 3);
    add({2, 0}, {0, 3}, false, false, 1);  // an empty sum is 0
    add({2, 0, 3, 2}, {2, 2}, false, false, 2);
    add({37, 41}, {41, 29}, false, false, 41, false);  // beyond the plain loops
    add({29, 41}, {29, 37}, true, false, 29, false);
    add({33, 35}, {31, 35}, false, true, 35, false);
    add({35, 33}, {31, 35}, true, true, 35, false);
    add({3, 130, 17}, {17, 90}, false, false, 17, false);
    return all;
  }
};

template <>
struct Samples<Linear> {
  static std::vector<Sample> list() {
    const Reference reference = [](const std::vector<Tensor>& in) {
      const std::int64_t k = in[1].shape()[1], n = in[1].shape()[0], rows = k ? in[0].numel() / k : 0;
      const Values x = in[0].to_vector<double>(), w = in[1].to_vector<double>();
      const Values b = in.size() > 2 && in[2] ? in[2].to_vector<double>() : Values(static_cast<std::size_t>(n));
      Values y;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < n; ++j) {
          double s = b[static_cast<std::size_t>(j)];
          for (std::int64_t l = 0; l < k; ++l)
            s += x[static_cast<std::size_t>(r * k + l)] * w[static_cast<std::size_t>(j * k + l)];
          y.push_back(s);
        }
      return std::vector<Values>{y};
    };
    const auto sample = [&](Shape x, Shape w, bool bias, std::int64_t k, unsigned gradient = ~0u) {
      Sample s{op<Linear>(), {values(x), values(w)}, reference, gradient, k};
      if (bias) s.in.push_back(values({w[0]}));
      return s;
    };
    return {sample({4, 3}, {2, 3}, true, 3),        sample({4, 3}, {2, 3}, false, 3), sample({3}, {5, 3}, true, 3),
            sample({2, 2, 3}, {4, 3}, true, 3),     sample({0, 3}, {2, 3}, true, 3),  sample({1, 1}, {1, 1}, true, 1),
            sample({40, 50}, {30, 50}, true, 50, 0)};
  }
};

}  // namespace reel::test
