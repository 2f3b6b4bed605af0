#include "reel/nn/loss.h"

#include <cmath>

#include "reel/autograd/tape.h"
#include "reel/tests/support/catch.h"

using namespace reel;

TEST_CASE("a loss is a sum and a count", "[nn]") {
  const Tensor logits = Tensor::zeros({3, 4}), labels = Tensor::from({3}, {0, -100, 3}, DType::i64);
  const nn::Loss loss = nn::cross_entropy(logits, labels);
  CHECK(loss.count.item() == 2);
  CHECK(loss.count.dtype() == DType::f64);
  CHECK(loss.sum.item() == Approx(2 * std::log(4.0)).epsilon(1e-6));
  CHECK(loss.mean().item() == Approx(std::log(4.0)).epsilon(1e-6));
  CHECK(nn::cross_entropy(logits, Tensor::from({3}, {0, 3, 3}, DType::i64), {.ignore_index = 3}).count.item() == 1);
}

TEST_CASE("the mean of nothing is 0", "[nn]") {
  const Tensor labels = Tensor::full({3}, -100, DType::i64);
  const nn::Loss loss = nn::cross_entropy(Tensor::zeros({3, 4}), labels);
  CHECK(loss.count.item() == 0);
  CHECK(loss.sum.item() == 0);
  CHECK(loss.mean().item() == 0);
}

TEST_CASE("every loss gives the value of its formula", "[nn]") {
  const Tensor x = Tensor::from({2}, {0.5, 3}), t = Tensor::from({2}, {1, 1});
  CHECK(nn::mse(x, t).mean().item() == Approx(2.125));
  CHECK(nn::l1(x, t).mean().item() == Approx(1.25));
  CHECK(nn::smooth_l1(x, t).mean().item() == Approx((0.125 + 1.5) / 2));
  CHECK(nn::bce_with_logits(x, t).mean().item() ==
        Approx((std::log1p(std::exp(-0.5)) + std::log1p(std::exp(-3.0))) / 2));
  CHECK(nn::bce(Tensor::from({2}, {0.5, 0.25}), t).mean().item() == Approx((std::log(2.0) + std::log(4.0)) / 2));
  CHECK(nn::nll(Tensor::from({1, 2}, {-1, -2}), Tensor::from({1}, {1}, DType::i64)).mean().item() == 2);
  CHECK(nn::mse(x, t).count.item() == 2);
}

TEST_CASE("the mean is for printing: no tape records it", "[nn]") {
  const Tensor x = Tensor::from({2}, {0.5, 3}).set_requires_grad();
  Tape tape;
  const nn::Loss loss = nn::mse(x, Tensor::zeros({2}));
  const std::size_t rows = tape.rows().size();
  CHECK(loss.mean().item() == Approx(4.625));
  CHECK(tape.rows().size() == rows);
  tape.backward(loss.sum);
  CHECK(x.grad().to_vector() == std::vector<float>{1, 6});
}
