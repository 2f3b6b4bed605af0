#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "reel/data/file.h"
#include "reel/data/safetensors.h"
#include "reel/data/safetensors_impl.h"

namespace reel::data {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

using Limits = SafeTensorsLimits;
using Entry = std::pair<const std::string, Tensor>;

/// Text as a JSON string.
std::string quote(const std::string& path, const std::string& text) {
  check<ValueError>(static_cast<std::int64_t>(text.size()) <= Limits::kText, path, ": a text of ", text.size(),
                    " bytes, but at most ", Limits::kText, " are supported");
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    fail<ValueError>(path, ": a name or metadata is not valid UTF-8");
  }
}

void require_writable(const std::string& path, const Entry& entry) {
  const auto& [name, t] = entry;
  check<ValueError>(name != "__metadata__", path, ": no tensor can be named __metadata__: the format keeps that name");
  check<ValueError>(static_cast<std::int64_t>(name.size()) <= Limits::kName, path, ": the name of a tensor has ",
                    name.size(), " bytes, but at most ", Limits::kName, " are supported");
  check<ValueError>(static_cast<bool>(t), path, ": tensor ", name, " is empty: it has no shape and no numbers");
  check<DeviceError>(t.device() == Device::cpu(), path, ": tensor ", name, " lives on ", t.device(),
                     ". Copy it to the cpu first");
}

std::string make_header(const std::string& path,
                        const std::vector<const Entry*>& order,
                        const std::map<std::string, std::string>& metadata) {
  std::string text = "{", separator;
  if (!metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      text += separator + quote(path, key) + ':' + quote(path, value);
      separator = ",";
    }
    text += '}';
  }
  std::int64_t at = 0;
  for (const Entry* e : order) {
    const Tensor& t = e->second;
    text += separator + quote(path, e->first) + ":{\"dtype\":\"" + std::string(safetensors_name(t.dtype())) +
            "\",\"shape\":[";
    for (int d = 0; d < t.rank(); ++d) text += (d ? "," : "") + std::to_string(t.shape()[d]);
    text += "],\"data_offsets\":[" + std::to_string(at);
    at += t.numel() * static_cast<std::int64_t>(size_of(t.dtype()));
    text += ',' + std::to_string(at) + "]}";
    separator = ",";
  }
  text += '}';
  constexpr std::size_t kLength = 8, kAlign = 64;
  text.append((kAlign - (kLength + text.size()) % kAlign) % kAlign, ' ');
  check<ValueError>(static_cast<std::int64_t>(text.size()) <= Limits::kHeader, path, ": the header would have ",
                    text.size(), " bytes, but at most ", Limits::kHeader, " are allowed");
  return text;
}

/// Writes elements in row-major order, whatever the strides.
void write_elements(Writer& out, const Tensor& t) {
  const std::size_t size = size_of(t.dtype());
  if (t.numel() == 0) return;
  if (t.is_contiguous()) return out.write(t.raw(), static_cast<std::size_t>(t.numel()) * size);
  Dims index = Dims::filled(t.rank(), 0);
  const std::byte* at = t.raw();
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    out.write(at, size);  // the writer collects small pieces
    for (int d = t.rank() - 1; d >= 0; --d) {
      const std::ptrdiff_t step = t.strides()[d] * static_cast<std::ptrdiff_t>(size);
      if (++index[d] < t.shape()[d]) {
        at += step;
        break;
      }
      at -= step * (t.shape()[d] - 1);
      index[d] = 0;
    }
  }
}

}  // namespace

void save_safetensors(const std::string& path,
                      const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  check<ValueError>(static_cast<std::int64_t>(tensors.size()) <= Limits::kTensors, path, ": ", tensors.size(),
                    " tensors, but at most ", Limits::kTensors, " are supported");
  check<ValueError>(static_cast<std::int64_t>(metadata.size()) <= Limits::kMetadata, path, ": ", metadata.size(),
                    " metadata entries, but at most ", Limits::kMetadata, " are supported");
  std::vector<const Entry*> order;
  for (const Entry& e : tensors) {
    require_writable(path, e);
    order.push_back(&e);
  }
  std::stable_sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return size_of(a->second.dtype()) > size_of(b->second.dtype());
  });
  const std::string header = make_header(path, order, metadata);
  write_atomically(path, [&](Writer& out) {
    const std::uint64_t length = header.size();
    out.write(&length, sizeof length);
    out.write(header.data(), header.size());
    for (const Entry* e : order) write_elements(out, e->second);
  });
}

}  // namespace reel::data
