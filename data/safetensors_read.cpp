#include <algorithm>
#include <vector>

#include "reel/data/safetensors.h"
#include "reel/data/safetensors_impl.h"

namespace reel::data {
namespace {

using Named = std::pair<const std::string, SafeTensorsEntry>;

/// The entries by position, after a check that they cover the data section without gap or overlap.
std::vector<const Named*> in_file_order(const std::string& path, const SafeTensorsHeader& header, std::int64_t size) {
  std::vector<const Named*> order;
  order.reserve(header.entries.size());
  for (const Named& e : header.entries) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const Named* a, const Named* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::int64_t at = 0;
  for (const Named* e : order) {
    check<DataError>(e->second.begin == at, path, ": tensor '", e->first, "' begins at ", e->second.begin, ", but ",
                     e->second.begin < at ? "overlaps the one that ends at " : "the one before ends at ", at);
    at = e->second.end;
  }
  check<DataError>(at == size, path, ": the tensors need ", at, " bytes, but ", size,
                   " follow the header. Fetch the file again");
  return order;
}

/// A C++ bool has no third value.
void require_truth_values(const std::string& path, const std::string& name, const Tensor& t) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(t.raw());
  const auto* bad = std::find_if(bytes, bytes + t.numel(), [](unsigned char b) { return b > 1; });
  check<DataError>(bad == bytes + t.numel(), path, ": tensor '", name, "' is BOOL, but element ", bad - bytes,
                   " is neither 0 nor 1");
}

}  // namespace

SafeTensors load_safetensors(const std::string& path) {
  Reader reader(path, Reader::Content::plain);  // a header length may look like gzip
  unsigned char bytes[8];
  reader.read(bytes, 8, "the header's length");
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | bytes[i];
  const std::int64_t left = *reader.remaining();
  check<DataError>(length <= static_cast<std::uint64_t>(SafeTensorsLimits::kHeader), path,
                   ": is no safetensors file: the header's length is ", length, " bytes, but at most ",
                   SafeTensorsLimits::kHeader, " are allowed");
  const auto header_size = static_cast<std::int64_t>(length);
  check<DataError>(header_size <= left, path, ": is truncated: the header has ", header_size, " bytes, but ", left,
                   " are left. Fetch the file again");
  SafeTensorsHeader header = parse_safetensors_header(reader, header_size);
  SafeTensors out;
  for (const Named* e : in_file_order(path, header, left - header_size)) {
    const auto& [name, entry] = *e;
    Tensor t = Tensor::empty(entry.shape, entry.dtype);
    reader.read(t.raw(), static_cast<std::size_t>(entry.end - entry.begin), name.c_str());
    if (entry.dtype == DType::boolean) require_truth_values(path, name, t);
    out.tensors.emplace(name, std::move(t));
  }
  out.metadata = std::move(header.metadata);
  return out;
}

}  // namespace reel::data
