#include "reel/examples/train/curves.h"

#include <algorithm>
#include <cmath>

#include "reel/examples/train/text.h"

namespace reel::train {
namespace {

using Points = std::vector<Series::Point>;

constexpr double kWidth = 960, kHeight = 400;
constexpr double kPlotWidth = 390, kPlotHeight = 270, kTop = 84;

/// Colours of both schemes: paper, ink and grid, then training and test.
constexpr const char* kStyle = R"(<style>
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 13px; fill: #3f4754; }
  .title { font-size: 17px; font-weight: 600; fill: #111827; }
  .name { font-size: 14px; font-weight: 600; fill: #111827; }
  .paper { fill: #ffffff; }
  .grid { stroke: #e3e6eb; stroke-width: 1; }
  .axis { stroke: #8b93a1; stroke-width: 1; }
  .train { stroke: #1f6fd0; } .test { stroke: #d9600a; }
  .line { fill: none; stroke-width: 2.2; stroke-linejoin: round; stroke-linecap: round; }
  .faint { fill: none; stroke-width: 1; opacity: 0.45; stroke-linejoin: round; }
  .dot { fill: #ffffff; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #b4bcc9; }
    .title, .name { fill: #eef1f6; }
    .paper, .dot { fill: #12161d; }
    .grid { stroke: #272e39; }
    .axis { stroke: #667082; }
    .train { stroke: #5aa6ff; } .test { stroke: #ff9d4d; }
  }
</style>
)";

std::string escaped(const std::string& s) {
  std::string out;
  for (const char c : s) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

std::string text(double x, double y, const char* attributes, const std::string& content) {
  return "<text x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\" " + attributes + ">" + escaped(content) +
         "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const char* kind) {
  return "<line x1=\"" + fixed(x1, 1) + "\" y1=\"" + fixed(y1, 1) + "\" x2=\"" + fixed(x2, 1) + "\" y2=\"" +
         fixed(y2, 1) + "\" class=\"" + kind + "\"/>\n";
}

struct Curve {
  const char* name;  // in the legend; null: not there
  const char* kind;  // class of the colour
  Points points;
  bool faint = false;
};

/// One plot with its axes. The corner is the upper left one of the plotting area.
class Panel {
 public:
  Panel(double left, const std::vector<double>& x, const std::vector<double>& y) : left_(left), x_(x), y_(y) {}

  std::string draw(
      const char* id, const char* name, int digits_y, const char* unit, const std::vector<Curve>& curves) const {
    const double right = left_ + kPlotWidth, bottom = kTop + kPlotHeight;
    std::string s = text(left_, kTop - 18, "class=\"name\"", name);
    for (const double v : y_) {
      s += line(left_, at_y(v), right, at_y(v), "grid");
      s += text(left_ - 9, at_y(v) + 4.5, "text-anchor=\"end\"", fixed(v, digits_y) + unit);
    }
    const bool whole = x_[1] == std::floor(x_[1]);
    for (const double v : x_) {
      s += line(at_x(v), bottom, at_x(v), bottom + 5, "axis");
      s += text(at_x(v), bottom + 20, "text-anchor=\"middle\"", fixed(v, whole ? 0 : 2));
    }
    s += line(left_, bottom, right, bottom, "axis") + line(left_, kTop, left_, bottom, "axis");
    s += text(left_ + kPlotWidth / 2, bottom + 38, "text-anchor=\"middle\"", "epoch");
    s += std::string("<clipPath id=\"") + id + "\"><rect x=\"" + fixed(left_, 1) + "\" y=\"" + fixed(kTop - 6, 1) +
         "\" width=\"" + fixed(kPlotWidth + 6, 1) + "\" height=\"" + fixed(kPlotHeight + 12, 1) +
         "\"/></clipPath>\n<g clip-path=\"url(#" + id + ")\">\n";
    for (const Curve& c : curves) s += curve(c);
    s += "</g>\n";
    double legend = right;
    for (auto c = curves.rbegin(); c != curves.rend(); ++c) {
      if (!c->name) continue;
      constexpr double kLetter = 7.2, kSample = 22, kGap = 18;
      legend -= kLetter * static_cast<double>(std::string(c->name).size());
      s += text(legend, kTop - 18, "", c->name);
      s += line(legend - kSample - 6, kTop - 22.5, legend - 6, kTop - 22.5,
                (std::string(c->faint ? "faint " : "line ") + c->kind).c_str());
      legend -= kSample + 6 + kGap;
    }
    return s;
  }

 private:
  double at_x(double v) const { return left_ + kPlotWidth * (v - x_.front()) / (x_.back() - x_.front()); }
  double at_y(double v) const { return kTop + kPlotHeight * (1 - (v - y_.front()) / (y_.back() - y_.front())); }

  /// A gap where a value is not finite.
  std::string curve(const Curve& c) const {
    std::string path, dots;
    bool pen = false;
    for (const auto [x, y] : c.points) {
      if (!std::isfinite(y)) {
        pen = false;
        continue;
      }
      const double far = y_.back() + 3 * (y_.back() - y_.front());  // beyond what is seen
      const std::string px = fixed(at_x(x), 1), py = fixed(at_y(std::min(y, far)), 1);
      path += (pen ? " L" : " M") + px + " " + py;
      pen = true;
      constexpr std::size_t kMostDots = 40;
      if (!c.faint && c.points.size() <= kMostDots)
        dots += "<circle cx=\"" + px + "\" cy=\"" + py + "\" r=\"3.4\" class=\"dot " + c.kind + "\"/>\n";
    }
    if (path.empty()) return "";
    return "<path d=\"" + path.substr(1) + "\" class=\"" + (c.faint ? "faint " : "line ") + c.kind + "\"/>\n" + dots;
  }

  double left_;
  const std::vector<double>&x_, &y_;
};

int digits_for(const std::vector<double>& ticks) {
  const double step = ticks[1] - ticks[0];
  int digits = 0;
  for (double s = step; digits < 4 && std::abs(s - std::round(s)) > 1e-6; s *= 10) ++digits;
  return digits;
}

/// The largest value that should be seen: all but a few early or wild ones.
double visible_top(const std::vector<Curve>& curves) {
  std::vector<double> v;
  for (const Curve& c : curves)
    for (const auto& p : c.points)
      if (std::isfinite(p.y)) v.push_back(p.y);
  if (v.empty()) return 1;
  std::ranges::sort(v);
  const double most = v.back(), usual = v[(v.size() - 1) * 95 / 100];
  constexpr double kWild = 2.5;
  return std::max(std::min(most, kWild * usual), 1e-6);
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int about) {
  const double raw = std::max((high - low) / about, 1e-9), power = std::pow(10, std::floor(std::log10(raw)));
  const double head = raw / power;
  const double step = power * (head <= 1 ? 1 : head <= 2 ? 2 : head <= 5 ? 5 : 10);
  std::vector<double> ticks;
  const double first = std::floor(low / step + 1e-9);
  for (double k = first;; ++k) {
    ticks.push_back(k * step);
    if (k * step >= high - step * 1e-9 && ticks.size() >= 2) return ticks;
  }
}

std::string curves_svg(const Progress& progress, const std::string& title, double steps_per_epoch) {
  Curve step_loss{"each step", "train", {}, true}, train_loss{"training", "train", {}}, test_loss{"test", "test", {}},
      train_accuracy{"training", "train", {}}, test_accuracy{"test", "test", {}};
  for (const auto [x, y] : progress.curve.points()) step_loss.points.push_back({x / steps_per_epoch, y});
  double epoch = 0, lowest = progress.history.empty() ? 0 : 1;
  for (const EpochRecord& r : progress.history) {
    ++epoch;
    train_loss.points.push_back({epoch, r.train_loss});
    test_loss.points.push_back({epoch, r.test_loss});
    train_accuracy.points.push_back({epoch, r.train_accuracy});
    test_accuracy.points.push_back({epoch, r.test_accuracy});
    lowest = std::min({lowest, r.train_accuracy, r.test_accuracy});
  }
  const std::vector<Curve> losses = {step_loss, train_loss, test_loss};
  const double last = std::max(epoch, step_loss.points.empty() ? 0.0 : step_loss.points.back().x);
  const auto x = nice_ticks(0, last > 0 ? last : 1, 6);
  const auto loss_y = nice_ticks(0, visible_top(losses), 5);
  const auto accuracy_y = nice_ticks(100 * std::min(lowest, 0.98), 100, 5);
  for (Curve* c : {&train_accuracy, &test_accuracy})
    for (auto& p : c->points) p.y *= 100;

  std::string s = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + fixed(kWidth, 0) + " " +
                  fixed(kHeight, 0) + "\" width=\"" + fixed(kWidth, 0) + "\" height=\"" + fixed(kHeight, 0) +
                  "\" role=\"img\">\n<title>" + escaped(title) + "</title>\n" + kStyle +
                  "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n";
  s += text(62, 34, "class=\"title\"", title);
  constexpr double kLeft = 62, kRight = 552;
  s += Panel(kLeft, x, loss_y).draw("loss", "Loss", digits_for(loss_y), "", losses);
  s += Panel(kRight, x, accuracy_y)
           .draw("accuracy", "Accuracy", digits_for(accuracy_y), " %", {train_accuracy, test_accuracy});
  return s + "</svg>\n";
}

}  // namespace reel::train
