#include "reel/data/idx.h"

#include <cstdio>

#include "reel/data/file.h"

namespace reel::data {
namespace {

std::uint32_t read_big_endian(Reader& reader, const char* what) {
  unsigned char b[4];
  reader.read(b, 4, what);
  return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
}

std::string hex(std::uint32_t v) {
  char text[11];
  std::snprintf(text, sizeof text, "0x%08x", v);
  return text;
}

void expect_magic(Reader& reader, std::uint32_t wanted, const char* kind) {
  const std::uint32_t magic = read_big_endian(reader, "the magic number");
  check<DataError>(magic == wanted, reader.path(), ": is no IDX file of ", kind, ": its magic number is ", hex(magic),
                   ", but ", hex(wanted), " is needed. Check that the files are not mixed up");
}

}  // namespace

Tensor read_idx_images(const std::string& path) {
  Reader reader(path);
  expect_magic(reader, 0x00000803, "images");
  const std::int64_t n = read_big_endian(reader, "the number of images");
  const std::int64_t h = read_big_endian(reader, "the height");
  const std::int64_t w = read_big_endian(reader, "the width");
  check<DataError>(h > 0 && w > 0, path, ": the header announces images of ", h, " x ", w,
                   " pixels. Fetch the file again");
  return reader.read_rest({n, h, w});
}

Tensor read_idx_labels(const std::string& path) {
  Reader reader(path);
  expect_magic(reader, 0x00000801, "labels");
  const std::int64_t n = read_big_endian(reader, "the number of labels");
  return reader.read_rest({n});
}

}  // namespace reel::data
