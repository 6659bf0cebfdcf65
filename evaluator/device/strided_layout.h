#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace evo {

/// Where the elements of a tensor with strides lie. Sizes and strides are in elements, outermost first.
class StridedLayout {
 public:
  StridedLayout(std::span<const std::uint64_t> dims, std::span<const std::uint64_t> strides);

  std::uint64_t elements() const { return elements_; }
  /// From the first element to the last.
  std::uint64_t extent() const { return extent_; }

  /// Between a dense array and the places of a tensor, for elements of `size` bytes.
  void scatter(std::span<const std::byte> dense, std::size_t size, std::span<std::byte> tensor) const;
  std::vector<std::byte> gather(std::span<const std::byte> tensor, std::size_t size) const;

  /// The offset of the first byte between elements that is not `value`; the tensor's size when all are.
  std::size_t first_changed_gap(std::span<const std::byte> tensor, std::size_t size, std::byte value) const;
  /// Sets the bytes between elements.
  void fill_gaps(std::span<std::byte> tensor, std::size_t size, std::byte value) const;

 private:
  std::vector<bool> places() const;
  std::uint64_t place_of(std::uint64_t element) const;

  std::vector<std::uint64_t> dims_, strides_;
  std::uint64_t elements_ = 1;
  std::uint64_t extent_ = 1;
};

}  // namespace evo
