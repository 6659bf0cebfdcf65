#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evaluator/vgpu/tcgen05/instruction_descriptor.h"

/// Products of tcgen05.mma for tests: operands as numbers, their bits in shared memory, and the plain product.
namespace evo::vgpu {

enum class OperandLayout : std::uint8_t { plain, by_32, by_64, by_128, by_128_of_32 };

/// A matrix of rows of k numbers, all of which its format has.
struct Operand {
  TensorFormat format = TensorFormat::f16;
  bool packed = false;  ///< Two numbers of e2m1 in a byte.
  int rows = 0;
  int k = 0;
  std::vector<double> values;  ///< Row by row.

  double at(int row, int column) const { return values[static_cast<std::size_t>(row * k + column)]; }
  /// The bits of an element.
  std::uint32_t bits(int row, int column) const;
};
/// Small numbers, among them negative ones and the format's smallest.
Operand random_operand(TensorFormat format, bool packed, int rows, int k, std::uint32_t seed);

/// Shared memory with an operand's `rows` rows from `first` on, for products along k one after another, and what
/// their descriptors say besides the start.
struct SharedImage {
  std::vector<std::uint8_t> bytes;
  std::uint64_t descriptor = 0;
  std::vector<std::uint32_t> starts;  ///< Of each product: of its first byte.
};
SharedImage shared_image(const Operand& operand, int first, int rows, OperandLayout layout, bool transposed);

std::uint32_t instruction_descriptor(const TensorShape& shape);

}  // namespace evo::vgpu
