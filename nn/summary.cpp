#include "reel/nn/summary.h"

#include <algorithm>
#include <iomanip>
#include <ostream>

#include "reel/autograd/ops.h"

namespace reel::nn {
namespace {

/// Adds up the ops that run in each scope.
class CostObserver final : public Observer {
 public:
  /// `root`: the scope of the model itself, which row names leave out.
  CostObserver(std::vector<SummaryRow>& rows, std::string root) : rows_(rows), root_(std::move(root)) {}
  void before(const Op&, Inputs) override {}
  void after(const Op& op, Inputs in, const Outputs& out) override {
    std::vector<const Meta*> metas;
    for (int i = 0; i < in.size(); ++i) metas.push_back(in[i] ? &in[i].meta() : nullptr);
    std::vector<Meta> results;
    for (int o = 0; o < out.n; ++o) results.push_back(out[o].meta());
    SummaryRow& row = row_of(Scope::path());
    ++row.ops;
    row.output = out[0].shape();
    if (op.info().makes_output) return;
    row.flops += op.cost(metas, results).flops;
    for (const Meta& m : results) row.activation_bytes += m.bytes();
  }

 private:
  SummaryRow& row_of(std::string path) {
    if (path.starts_with(root_)) path.erase(0, root_.size());
    if (path.starts_with('/')) path.erase(0, 1);
    std::ranges::replace(path, '/', '.');
    const auto it = std::ranges::find(rows_, path, &SummaryRow::name);
    if (it != rows_.end()) return *it;
    return rows_.emplace_back(SummaryRow{.name = path, .type = "", .output = {}});
  }
  std::vector<SummaryRow>& rows_;
  std::string root_;
};

std::string grouped(double v) {  // 1234567 -> "1,234,567"
  std::ostringstream digits;
  digits << std::fixed << std::setprecision(0) << v;
  std::string s = digits.str();
  for (auto at = static_cast<std::ptrdiff_t>(s.size()) - 3; at > 0; at -= 3)
    s.insert(static_cast<std::size_t>(at), 1, ',');
  return s;
}

}  // namespace

Summary summary(const Module& model, const Shape& input, DType dtype) {
  Summary s{.model = model.type(), .input = input, .rows = {}, .total = {}};
  const std::vector<Module::Info> modules = model.named_modules();
  for (const Module::Info& m : modules) {
    SummaryRow row{.name = m.name, .type = m.type, .output = {}};
    for (const Parameter& p : m.parameters) row.parameters += p.tensor.numel();
    if (m.leaf || row.parameters > 0) s.rows.push_back(row);
  }
  {
    const NoGrad off;
    const Module::EvalMode mode(model);
    std::string root = Scope::path();
    if (!model.name().empty()) root.append(root.empty() ? "" : "/").append(model.name());
    CostObserver observer(s.rows, root);
    const HookScope<&Hooks::observer> hook(&observer);
    model(Tensor::zeros(input, dtype));
  }
  for (SummaryRow& row : s.rows) {
    if (row.type.empty()) {  // ran between the layers
      const auto it = std::ranges::find(modules, row.name, &Module::Info::name);
      if (it != modules.end()) row.type = it->type;
    }
    s.total.ops += row.ops;
    s.total.flops += row.flops;
    s.total.activation_bytes += row.activation_bytes;
  }
  for (const auto& [name, t] : model.named_parameters()) {
    s.total.parameters += t.numel();
    s.trainable += t.requires_grad() ? t.numel() : 0;
    s.parameter_bytes += t.meta().bytes();
  }
  return s;
}

std::string Summary::text() const {
  const std::vector<std::string> head{"layer", "type", "output", "parameters", "FLOPs", "activation bytes"};
  std::vector<std::vector<std::string>> lines{head};
  for (const SummaryRow& r : rows)
    lines.push_back({r.name.empty() ? "-" : r.name, r.type, r.ops > 0 ? to_string(r.output) : "-",
                     grouped(static_cast<double>(r.parameters)), grouped(r.flops), grouped(r.activation_bytes)});
  lines.push_back({"total", model, "", grouped(static_cast<double>(total.parameters)), grouped(total.flops),
                   grouped(total.activation_bytes)});
  std::ostringstream os;
  std::vector<std::size_t> width(head.size(), 0);
  for (const auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) width[c] = std::max(width[c], line[c].size());
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c)
      os << (c ? "  " : "") << (c < 3 ? std::left : std::right) << std::setw(static_cast<int>(width[c])) << line[c];
    os << '\n';
  }
  os << "input " << input << "; " << grouped(static_cast<double>(trainable)) << " parameters are trainable; they take "
     << grouped(parameter_bytes) << " bytes\n";
  return os.str();
}

std::ostream& operator<<(std::ostream& os, const Summary& s) {
  return os << s.text();
}

}  // namespace reel::nn
