#pragma once
// Labelled images in memory, and where the well-known sets come from.
#include <string>
#include <vector>

#include "reel/core/tensor.h"

namespace reel::data {

/// Labelled images. Pixels stay as they are stored; a batch gets them as f32: pixel * scale +
/// shift.
struct Dataset {
  std::string name;
  Tensor images;  ///< u8 or f32 [n, c, ...]
  Tensor labels;  ///< i64 [n], each in 0..classes-1
  int classes = 10;
  std::vector<float> scale, shift;  ///< one for each channel, or one for all; empty: 1 and 0

  std::int64_t size() const { return labels.size(0); }
};

/// Sets scale and shift so that pixels, after division by `most`, get mean 0 and deviation 1 where
/// they have these means and deviations (one for each channel).
void normalize(Dataset& dataset, double most, const std::vector<double>& mean, const std::vector<double>& stddev);

/// Throws ShapeError or DTypeError for tensors other than the members above promise, ValueError for
/// a wrong number of scales, and DataError that names index and value for a label out of range.
void validate(const Dataset& dataset);

// `split` is "train" or "test" everywhere, else ValueError. Files that are absent are an IoError
// that says which ones are needed and where; damaged ones are a DataError.

/// Fashion-MNIST (Xiao, Rasul, Vollgraf 2017): 60,000 + 10,000 images [1, 28, 28] of clothes.
/// Without `dir` the files are those of the Debian package dataset-fashion-mnist.
Dataset fashion_mnist(const std::string& split, const std::string& dir = "");

/// MNIST (LeCun, Cortes, Burges): 60,000 + 10,000 images [1, 28, 28] of digits, IDX files in `dir`.
Dataset mnist(const std::string& split, const std::string& dir);

/// CIFAR-10 (Krizhevsky 2009): 50,000 + 10,000 images [3, 32, 32], the binary version in `dir` or
/// in its sub-folder cifar-10-batches-bin.
Dataset cifar10(const std::string& split, const std::string& dir);

/// Optical digits (Alpaydin, Kaynak 1998): 1,797 images [1, 8, 8]. Sample i is a test sample where
/// i % 5 == 4: 1,438 + 359. Without `dir` the file is the one that comes with the library.
Dataset digits(const std::string& split, const std::string& dir = "");

/// The IDX or CIFAR-10 files that lie in `dir`. Pixels are mapped to [-1, 1], since the statistics
/// of unknown images are not known; set `scale` and `shift`, or call normalize, for others.
Dataset from_folder(const std::string& dir, const std::string& split);

/// The folder that holds digits/digits.csv.gz: beside the sources the library was built from, or
/// share/reel of an installation. Throws IoError that lists the places tried.
std::string data_folder();

}  // namespace reel::data
