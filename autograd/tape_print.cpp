// The tape as a table for people and as a graph for Graphviz.
#include <algorithm>
#include <iomanip>
#include <map>
#include <set>

#include "reel/autograd/tape.h"

namespace reel {
namespace {

std::string describe(const Meta& m) {
  std::ostringstream os;
  os << name_of(m.dtype) << m.shape;
  return os.str();
}
std::string list(const std::vector<Meta>& metas) {
  std::string s;
  for (const Meta& m : metas) s += (s.empty() ? "" : ", ") + describe(m);
  return s;
}

}  // namespace

std::vector<Tape::Row> Tape::rows() const {
  std::vector<const Entry*> entries;
  for (const Entry* e = last_; e; e = e->previous) entries.push_back(e);
  std::ranges::reverse(entries);
  std::map<std::uint32_t, int> maker;
  std::set<const Storage*> counted;  // bytes that two entries share are saved once
  std::vector<Row> rows;
  for (const Entry* e : entries) {
    Row row;
    row.op = e->op->info().name;
    const auto add = [&](const Recorded& r, std::vector<Meta>& metas) {
      if (r.meta) metas.push_back(*r.meta);
      if (r.tensor && counted.insert(r.tensor.impl()->storage.get()).second)
        row.bytes_saved += r.tensor.impl()->storage->bytes();
    };
    for (const Recorded& r : e->in) {
      add(r, row.in);
      const auto at = maker.find(r.slot);
      if (r.meta) row.sources.push_back(at == maker.end() ? -1 : at->second);
    }
    for (const Recorded& r : e->out) {
      add(r, row.out);
      if (r.slot != Recorded::kNoSlot) maker[r.slot] = static_cast<int>(rows.size());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string Tape::table() const {
  const std::vector<Row> all = rows();
  std::size_t name = 2, in = 6, out = 7, total = 0;
  for (const Row& r : all) {
    name = std::max(name, r.op.size());
    in = std::max(in, list(r.in).size());
    out = std::max(out, list(r.out).size());
    total += r.bytes_saved;
  }
  std::ostringstream os;
  const auto line = [&](const auto& number, const std::string& a, const std::string& b, const std::string& c,
                        const auto& d) {
    os << std::right << std::setw(5) << number << "  " << std::left << std::setw(static_cast<int>(name)) << a << "  "
       << std::setw(static_cast<int>(in)) << b << "  " << std::setw(static_cast<int>(out)) << c << "  " << std::right
       << std::setw(12) << d << '\n';
  };
  line("#", "op", "inputs", "outputs", "bytes saved");
  for (std::size_t i = 0; i < all.size(); ++i)
    line(i, all[i].op, list(all[i].in), list(all[i].out), all[i].bytes_saved);
  line(all.size(), "ops", "", "", total);
  return os.str();
}

std::string Tape::dot() const {
  const std::vector<Row> all = rows();
  std::ostringstream os;
  os << "digraph tape {\n  rankdir=TB; node [shape=box, fontname=\"monospace\"];\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    os << "  n" << i << " [label=\"" << all[i].op << "\\n" << list(all[i].out) << "\"];\n";
    for (std::size_t k = 0; k < all[i].sources.size(); ++k) {
      if (all[i].sources[k] >= 0) {
        os << "  n" << all[i].sources[k] << " -> n" << i << ";\n";
      } else {
        os << "  n" << i << "_" << k << " [shape=ellipse, label=\"" << describe(all[i].in[k]) << "\"];\n"
           << "  n" << i << "_" << k << " -> n" << i << ";\n";
      }
    }
  }
  os << "}\n";
  return os.str();
}

}  // namespace reel
