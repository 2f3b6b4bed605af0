// The well-known data sets: which files they are, and their statistics.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "reel/core/view.h"
#include "reel/data/cifar.h"
#include "reel/data/csv.h"
#include "reel/data/dataset.h"
#include "reel/data/idx.h"
#include "reel/data/samples.h"

namespace reel::data {
namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool is_train(const std::string& split) {
  check<ValueError>(split == "train" || split == "test", "data: the split is '", split,
                    "', but must be 'train' or 'test'");
  return split == "train";
}

/// DIR/STEM-images-idx3-ubyte or a usual variant of the name; empty when none is there.
std::string find_idx(const std::string& dir, bool train, const std::string& kind) {
  for (const char* separator : {"-", "."})
    for (const char* end : {"", ".gz"}) {
      std::string path = dir + (train ? "/train-" : "/t10k-") + kind + separator +
                         (kind == "images" ? "idx3-ubyte" : "idx1-ubyte") + end;
      if (exists(path)) return path;
    }
  return "";
}

/// The folder of CIFAR-10's binary files: DIR or its sub-folder of the original name; else empty.
std::string find_cifar(const std::string& dir) {
  for (const std::string& d : {dir, dir + "/cifar-10-batches-bin"})
    if (exists(d + "/data_batch_1.bin") || exists(d + "/test_batch.bin")) return d;
  return "";
}

Tensor widen(const Tensor& labels) {
  return Tensor::from(
      labels.shape(),
      std::span<const std::uint8_t>(labels.data<std::uint8_t>(), static_cast<std::size_t>(labels.numel())), DType::i64);
}

Dataset load_idx(const std::string& name, const std::string& dir, bool train) {
  const std::string images = find_idx(dir, train, "images"), labels = find_idx(dir, train, "labels");
  const char* stem = train ? "train" : "t10k";
  check<IoError>(!images.empty() && !labels.empty(), name, ": there is no ", images.empty() ? "image" : "label",
                 " file in '", dir, "'. Put ", stem, "-images-idx3-ubyte and ", stem,
                 "-labels-idx1-ubyte (or both as .gz) there");
  const Tensor pixels = read_idx_images(images), classes = read_idx_labels(labels);
  check<DataError>(pixels.size(0) == classes.size(0), images, ": holds ", pixels.size(0), " images, but ", labels,
                   " holds ", classes.size(0), " labels. Check that the files belong together");
  Dataset d;
  d.name = name;
  // [n, h, w] to [n, 1, h, w]: the bytes are the same.
  d.images = view::unsqueeze(pixels, 1);
  d.labels = widen(classes);
  return d;
}

Dataset load_cifar(const std::string& dir, bool train) {
  const std::string found = find_cifar(dir);
  check<IoError>(!found.empty(), "cifar10: there are no batches in '", dir,
                 "'. Put data_batch_1.bin ... data_batch_5.bin and test_batch.bin of "
                 "cifar-10-binary.tar.gz there");
  std::vector<std::string> files;
  for (int i = 1; i <= 5 && train; ++i) files.push_back(found + "/data_batch_" + std::to_string(i) + ".bin");
  if (!train) files.push_back(found + "/test_batch.bin");
  Samples s = read_cifar10(files);
  Dataset d;
  d.name = "cifar10";
  d.images = std::move(s.images);
  d.labels = widen(s.labels);
  return d;
}

}  // namespace

Dataset fashion_mnist(const std::string& split, const std::string& dir) {
  const bool train = is_train(split);
  const std::string packaged = "/usr/share/datasets/fashion-mnist";
  check<IoError>(!dir.empty() || exists(packaged), "fashion_mnist: the folder ", packaged,
                 " is absent. Install the package dataset-fashion-mnist, or give the folder that "
                 "holds the IDX files");
  Dataset d = load_idx("fashion_mnist", dir.empty() ? packaged : dir, train);
  normalize(d, 255, {0.2860}, {0.3530});
  validate(d);
  return d;
}

Dataset mnist(const std::string& split, const std::string& dir) {
  Dataset d = load_idx("mnist", dir, is_train(split));
  normalize(d, 255, {0.1307}, {0.3081});
  validate(d);
  return d;
}

Dataset cifar10(const std::string& split, const std::string& dir) {
  Dataset d = load_cifar(dir, is_train(split));
  normalize(d, 255, {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616});
  validate(d);
  return d;
}

Dataset digits(const std::string& split, const std::string& dir) {
  const bool train = is_train(split);
  const std::string folder = dir.empty() ? data_folder() + "/digits" : dir;
  const std::string plain = folder + "/digits.csv";
  const Samples all = read_digits_csv(exists(plain) ? plain : plain + ".gz");
  constexpr std::int64_t kEvery = 5, kPixels = 64;
  const std::int64_t n = all.labels.numel(), tests = n / kEvery;
  Dataset d;
  d.name = "digits";
  d.images = Tensor::empty({train ? n - tests : tests, 1, 8, 8}, DType::u8);
  d.labels = Tensor::empty({d.images.size(0)}, DType::i64);
  auto* pixels = d.images.data<std::uint8_t>();
  auto* labels = d.labels.data<std::int64_t>();
  for (std::int64_t i = 0; i < n; ++i) {
    if ((i % kEvery == kEvery - 1) == train) continue;
    pixels = std::copy_n(all.images.data<std::uint8_t>() + i * kPixels, kPixels, pixels);
    *labels++ = all.labels.data<std::uint8_t>()[i];
  }
  normalize(d, 16, {0.3058}, {0.3764});
  validate(d);
  return d;
}

Dataset from_folder(const std::string& dir, const std::string& split) {
  const bool train = is_train(split);
  const bool idx = !find_idx(dir, train, "images").empty();
  check<IoError>(idx || !find_cifar(dir).empty(), "from_folder: '", dir, "' holds no known data set. Put ",
                 train ? "train" : "t10k", "-images-idx3-ubyte and ", train ? "train" : "t10k",
                 "-labels-idx1-ubyte (plain or .gz), or CIFAR-10's data_batch_1.bin ... and "
                 "test_batch.bin there");
  Dataset d = idx ? load_idx("from_folder", dir, train) : load_cifar(dir, train);
  if (idx) {  // how many classes there are is known from the labels alone
    const std::int64_t* labels = d.labels.data<std::int64_t>();
    d.classes = d.size() ? 1 + static_cast<int>(*std::max_element(labels, labels + d.size())) : 0;
  }
  normalize(d, 255, {0.5}, {0.5});
  validate(d);
  return d;
}

std::string data_folder() {
  std::vector<std::string> places;
#ifdef REEL_DATA_DIR
  places.push_back(REEL_DATA_DIR);
#endif
  std::error_code ignored;  // a program of a moved installation finds the data beside itself
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) places.push_back((program.parent_path().parent_path() / "share/reel").string());
  places.insert(places.end(), {"/usr/local/share/reel", "/usr/share/reel"});
  std::string tried;
  for (const std::string& place : places) {
    if (exists(place + "/digits/digits.csv.gz")) return place;
    tried += (tried.empty() ? "" : ", ") + place;
  }
  fail<IoError>("data: digits/digits.csv.gz is in none of: ", tried, ". Give the folder as an argument");
}

}  // namespace reel::data
