#include "reel/data/dataset.h"

#include <algorithm>

namespace reel::data {
namespace {

/// Whether one number for each channel, one for all, or none is given.
bool fits(const std::vector<float>& v, std::int64_t channels) {
  return v.size() <= 1 || static_cast<std::int64_t>(v.size()) == channels;
}

}  // namespace

void normalize(Dataset& dataset, double most, const std::vector<double>& mean, const std::vector<double>& stddev) {
  check<ValueError>(mean.size() == stddev.size(), "normalize: ", mean.size(), " means, but ", stddev.size(),
                    " deviations");
  check<ValueError>(most > 0 && std::all_of(stddev.begin(), stddev.end(), [](double s) { return s > 0; }),
                    "normalize: the largest pixel and the deviations must be above 0");
  dataset.scale.clear();
  dataset.shift.clear();
  for (std::size_t c = 0; c < mean.size(); ++c) {
    dataset.scale.push_back(static_cast<float>(1 / (most * stddev[c])));
    dataset.shift.push_back(static_cast<float>(-mean[c] / stddev[c]));
  }
}

void validate(const Dataset& d) {
  check<ShapeError>(d.images && d.labels, d.name, ": the data set has no images or no labels");
  check<DTypeError>(d.images.dtype() == DType::u8 || d.images.dtype() == DType::f32, d.name,
                    ": images are u8 or f32, but these are ", d.images.dtype());
  check<DTypeError>(d.labels.dtype() == DType::i64, d.name, ": labels are i64, but these are ", d.labels.dtype());
  check<ShapeError>(d.images.rank() >= 2 && d.labels.rank() == 1 && d.images.size(0) == d.labels.size(0), d.name,
                    ": images [n, c, ...] and labels [n] are needed, but images are ", d.images.shape(), " and labels ",
                    d.labels.shape());
  check<ShapeError>(d.images.is_contiguous() && d.labels.is_contiguous(), d.name,
                    ": images and labels must lie in row-major order");
  check<DeviceError>(d.images.device() == Device::cpu() && d.labels.device() == Device::cpu(), d.name,
                     ": images and labels must be on the cpu, but are on ", d.images.device(), " and ",
                     d.labels.device());
  check<ValueError>(fits(d.scale, d.images.size(1)) && fits(d.shift, d.images.size(1)), d.name, ": ", d.scale.size(),
                    " scales and ", d.shift.size(), " shifts for ", d.images.size(1), " channels");
  const std::int64_t* labels = d.labels.data<std::int64_t>();
  for (std::int64_t i = 0; i < d.size(); ++i)
    check<DataError>(labels[i] >= 0 && labels[i] < d.classes, d.name, ": label ", i, " is ", labels[i],
                     ", but labels lie in 0..", d.classes - 1);
}

}  // namespace reel::data
