#include <algorithm>
#include <cstring>

#include "evaluator/device/strided_layout.h"
#include "evaluator/judge/comparison.h"
#include "evaluator/numbers/elements.h"

// What a call leaves in memory.
namespace evo {

std::vector<std::byte> dense_bytes(const PlanTensor& tensor, std::span<const std::byte> raw) {
  if (tensor.strides.empty()) return {raw.begin(), raw.end()};
  return StridedLayout(tensor.dims, tensor.strides).gather(raw, size_of(tensor.dtype));
}

std::optional<std::uint64_t> first_not_written(DType dtype, std::span<const std::byte> dense) {
  if (is_integer(dtype) || bits_of(dtype) < 8) return std::nullopt;
  const std::size_t size = size_of(dtype);
  std::size_t set = 0;  // bytes before this one, without a gap
  for (std::size_t i = 0; i < dense.size(); ++i) {
    set = dense[i] == std::byte{0xff} ? (i % size == 0 ? 1 : set + 1) : 0;
    if (set == size && i % size == size - 1) return i / size;
  }
  return std::nullopt;
}

bool is_left_as_filled(DType dtype, std::span<const std::byte> dense, std::uint64_t index, double wanted) {
  if (is_integer(dtype) || bits_of(dtype) < 8) return false;
  const std::span<const std::byte> element = dense.subspan(index * size_of(dtype), size_of(dtype));
  if (!std::ranges::all_of(element, [](std::byte each) { return each == std::byte{0xff}; })) return false;
  const double filled = as_double(load(dtype, element.data()));
  return std::memcmp(&filled, &wanted, sizeof filled) != 0;
}

}  // namespace evo
