#include "reel/data/cifar.h"

#include <algorithm>
#include <cstring>

#include "reel/data/file.h"

namespace reel::data {
namespace {

constexpr std::int64_t kPixels = 3 * 32 * 32, kRecord = 1 + kPixels;
constexpr std::int64_t kAtOnce = 64;  // records in the read buffer

std::int64_t count_records(const Reader& reader) {
  const std::optional<std::int64_t> size = reader.remaining();
  check<DataError>(size.has_value(), reader.path(), ": is compressed. Unpack it with gunzip or tar -xzf first");
  check<DataError>(*size % kRecord == 0, reader.path(), ": holds ", *size, " bytes, no multiple of the record of ",
                   kRecord, " bytes. Fetch the file again");
  return *size / kRecord;
}

}  // namespace

Samples read_cifar10(const std::vector<std::string>& paths) {
  std::int64_t total = 0;
  for (const std::string& path : paths) total += count_records(Reader(path));
  Samples s{Tensor::empty({total, 3, 32, 32}, DType::u8), Tensor::empty({total}, DType::u8)};
  auto* pixels = s.images.data<std::uint8_t>();
  auto* labels = s.labels.data<std::uint8_t>();
  std::vector<std::uint8_t> buffer(static_cast<std::size_t>(kAtOnce * kRecord));
  std::int64_t room = total;  // a file that grew since it was counted must not overrun the tensors
  for (const std::string& path : paths) {
    Reader reader(path);
    const std::int64_t n = count_records(reader);
    check<DataError>(n <= room, path, ": changed while it was read. Read it again");
    room -= n;
    for (std::int64_t first = 0; first < n; first += kAtOnce) {
      const std::int64_t count = std::min(kAtOnce, n - first);
      reader.read(buffer.data(), static_cast<std::size_t>(count * kRecord), "a record");
      for (std::int64_t i = 0; i < count; ++i) {
        const std::uint8_t* record = buffer.data() + i * kRecord;
        check<DataError>(record[0] <= 9, path, ": record ", first + i, " has label ", int{record[0]},
                         ", but labels lie in 0..9. Check that this is the binary version of CIFAR-10");
        *labels++ = record[0];
        std::memcpy(pixels, record + 1, static_cast<std::size_t>(kPixels));
        pixels += kPixels;
      }
    }
  }
  check<DataError>(room == 0, paths.empty() ? std::string("cifar10") : paths.back(),
                   ": changed while it was read. Read it again");
  return s;
}

}  // namespace reel::data
