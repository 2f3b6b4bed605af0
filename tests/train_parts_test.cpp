// The parts of reel-train that need no process.
#include <cmath>
#include <limits>

#include "reel/core/error.h"
#include "reel/examples/train/curves.h"
#include "reel/examples/train/progress.h"
#include "reel/examples/train/settings.h"
#include "reel/examples/train/text.h"
#include "reel/tests/data_support.h"
#include "reel/tests/support/catch.h"

using namespace reel;
using namespace reel::train;

TEST_CASE("a series of any length stays short and keeps its mean", "[train]") {
  Series s;
  for (int i = 1; i <= 12'800; ++i) s.add(i, i % 2);
  CHECK(s.points().size() >= 200);
  CHECK(s.points().size() < 400);
  for (const auto& p : s.points()) CHECK(p.y == 0.5);
  CHECK(s.points().front().x > 1);
  CHECK(s.points().back().x <= 12'800);

  Series cut = Series::from_tensor(s.to_tensor());  // goes on as if nothing had been
  for (int i = 0; i < 999; ++i) {
    s.add(i, i * 0.25);
    cut.add(i, i * 0.25);
  }
  CHECK(cut.to_tensor().to_vector<double>() == s.to_tensor().to_vector<double>());
  CHECK_THROWS_AS(Series::from_tensor(Tensor::zeros({3}, DType::f64)), DataError);
  CHECK_THROWS_AS(Series::from_tensor(Tensor::zeros({3, 2}, DType::f64)), DataError);
}

TEST_CASE("progress goes through a checkpoint with every bit, NaN too", "[train]") {
  Progress p;
  p.epochs = 2;
  p.steps = 41;
  p.log_bytes = 12345;
  p.window = {.loss = 0.1, .count = 3, .correct = 1, .images = 3, .seconds = 1e-9};
  p.epoch.loss = std::numeric_limits<double>::quiet_NaN();
  p.history = {{1. / 3, 0.5, 0.25, 0.75, 1e-3, 2, 100}, {std::numeric_limits<double>::infinity(), 0, 0, 0.5, 0, 0, 0}};
  const Progress q = progress_from(nlohmann::json::parse(dump(counters_of(p))), numbers_of(p));
  CHECK(counters_of(q) == counters_of(p));
  CHECK(q.window.loss == 0.1);
  CHECK(std::isnan(q.epoch.loss));
  CHECK(q.history[0].train_loss == 1. / 3);
  CHECK(std::isinf(q.history[1].train_loss));
  CHECK(q.best() == 0);
}

TEST_CASE("ticks are round and cover the range", "[train]") {
  CHECK(nice_ticks(0, 2.3, 5) == std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5});
  CHECK(nice_ticks(0, 6, 6) == std::vector<double>{0, 1, 2, 3, 4, 5, 6});
  CHECK(nice_ticks(81, 100, 5) == std::vector<double>{80, 85, 90, 95, 100});
  for (const double low : {0., 3.7, 97.99})
    for (const double size : {0., 1e-6, 0.2, 7., 1e6}) {
      const auto t = nice_ticks(low, low + size, 5);
      CHECK(t.size() >= 2);
      CHECK(t.size() <= 9);
      CHECK(t.front() <= low + 1e-6);
      CHECK(t.back() >= (low + size) * (1 - 1e-9));
    }
}

TEST_CASE("curves can be drawn of anything", "[train]") {
  Progress p;
  CHECK(curves_svg(p, "nothing", 10).ends_with("</svg>\n"));
  p.curve.add(1, std::numeric_limits<double>::quiet_NaN());
  p.curve.add(2, std::numeric_limits<double>::infinity());
  p.curve.add(3, 1e30);
  p.history.push_back({std::nan(""), std::nan(""), std::numeric_limits<double>::infinity(), 0, 0, 0, 0});
  const std::string svg = curves_svg(p, "a < b & \"c\"", 3);
  CHECK(svg.find("a &lt; b &amp;") != std::string::npos);
  for (const char* bad : {"nan", "inf\"", "inf "}) CHECK(svg.find(bad) == std::string::npos);
}

TEST_CASE("numbers are shown as people read them", "[train]") {
  CHECK(grouped(999) == "999");
  CHECK(grouped(60'000) == "60,000");
  CHECK(grouped(-1'234'567) == "-1,234,567");
  CHECK(grouped(-123) == "-123");
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(std::int64_t{5} << 30) == "5.0 GiB");
  CHECK(duration(3.26) == "3.3 s");
  CHECK(duration(59.4) == "59 s");
  CHECK(duration(125) == "2:05");
  CHECK(duration(3725) == "1:02:05");
  CHECK(duration(std::numeric_limits<double>::infinity()) == "?");
  CHECK(percent(0.91235) == "91.23 %");
}

TEST_CASE("settings fill in what suits the data", "[train]") {
  Settings s;
  s.data = "digits";
  s.optimizer = "sgd";
  s.epochs = 3;
  fill_in(s, {"data", "optimizer", "epochs"});
  CHECK(s.model == "lenet");
  CHECK(s.epochs == 3);
  CHECK(s.lr == 0.05);
  CHECK(s.weight_decay == 0);
  CHECK(dump(to_json(settings_from_json(nlohmann::json::parse(dump(to_json(s)))))) == dump(to_json(s)));
}
