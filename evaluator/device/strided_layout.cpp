#include "evaluator/device/strided_layout.h"

#include <algorithm>
#include <cstring>

namespace evo {

StridedLayout::StridedLayout(std::span<const std::uint64_t> dims, std::span<const std::uint64_t> strides)
    : dims_(dims.begin(), dims.end()), strides_(strides.begin(), strides.end()) {
  // A scale may have more dims than its tensor; those are 1.
  strides_.resize(dims_.size(), 0);
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    elements_ *= dims_[i];
    extent_ += (dims_[i] - 1) * strides_[i];
  }
}

std::uint64_t StridedLayout::place_of(std::uint64_t element) const {
  std::uint64_t place = 0;
  for (std::size_t i = dims_.size(); i > 0; --i) {
    place += element % dims_[i - 1] * strides_[i - 1];
    element /= dims_[i - 1];
  }
  return place;
}

void StridedLayout::scatter(std::span<const std::byte> dense, std::size_t size, std::span<std::byte> tensor) const {
  for (std::uint64_t i = 0; i < elements_; ++i)
    std::memcpy(tensor.data() + place_of(i) * size, dense.data() + i * size, size);
}

std::vector<std::byte> StridedLayout::gather(std::span<const std::byte> tensor, std::size_t size) const {
  std::vector<std::byte> dense(elements_ * size);
  for (std::uint64_t i = 0; i < elements_; ++i)
    std::memcpy(dense.data() + i * size, tensor.data() + place_of(i) * size, size);
  return dense;
}

/// Which places within the extent hold an element.
std::vector<bool> StridedLayout::places() const {
  std::vector<bool> element(extent_, false);
  for (std::uint64_t i = 0; i < elements_; ++i) element[place_of(i)] = true;
  return element;
}

std::size_t StridedLayout::first_changed_gap(std::span<const std::byte> tensor, std::size_t size,
                                             std::byte value) const {
  const std::vector<bool> element = places();
  for (std::uint64_t place = 0; place < extent_; ++place) {
    if (element[place]) continue;
    const auto gap = tensor.subspan(place * size, size);
    const auto changed = std::ranges::find_if(gap, [&](std::byte byte) { return byte != value; });
    if (changed != gap.end()) return place * size + static_cast<std::size_t>(changed - gap.begin());
  }
  return tensor.size();
}

void StridedLayout::fill_gaps(std::span<std::byte> tensor, std::size_t size, std::byte value) const {
  const std::vector<bool> element = places();
  for (std::uint64_t place = 0; place < extent_; ++place)
    if (!element[place]) std::ranges::fill(tensor.subspan(place * size, size), value);
}

}  // namespace evo
