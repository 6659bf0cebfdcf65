#include "tests/vgpu/tcgen05/products.h"

#include <bit>
#include <cmath>
#include <random>

#include "evaluator/numbers/float_formats.h"

namespace evo::vgpu {
namespace {

using F = TensorFormat;

constexpr double kE2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

std::uint32_t small_bits(double value, int fraction_bits, int bias, int sign_bit) {
  for (std::uint32_t code = 0; code < 1u << sign_bit; ++code) {
    const auto exponent = static_cast<int>(code >> fraction_bits);
    const double fraction = static_cast<double>(code & ((1u << fraction_bits) - 1)) / (1 << fraction_bits);
    const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
    if (magnitude == std::abs(value)) return code | (std::signbit(value) ? 1u << sign_bit : 0u);
  }
  return ~0u;
}

int bits_of_element(const Operand& operand) {
  switch (operand.format) {
    case F::e2m1:
      return 4;
    case F::e2m3:
    case F::e3m2:
      return 6;
    default:
      return 8 * container_bytes(operand.format);
  }
}

/// Bytes of a row of k, sixteen elements of 6 and 4 bits in each 16 bytes unless they are packed.
std::vector<std::uint8_t> row_bytes(const Operand& operand, int row) {
  const int bits = bits_of_element(operand), bytes = container_bytes(operand.format);
  std::vector<std::uint8_t> to(static_cast<std::size_t>(operand.packed ? operand.k / 2 : operand.k * bytes));
  for (int k = 0; k < operand.k; ++k) {
    const bool small = bits < 8 && !operand.packed;
    const int at = small ? k / 16 * 128 + k % 16 * bits : k * bits;
    for (int bit = 0; bit < bits; ++bit)
      if ((operand.bits(row, k) >> bit & 1u) != 0)
        to[static_cast<std::size_t>((at + bit) / 8)] |= static_cast<std::uint8_t>(1u << (at + bit) % 8);
  }
  return to;
}

int swizzle_bytes(OperandLayout layout) {
  constexpr int kBytes[] = {16, 32, 64, 128, 128};
  return kBytes[static_cast<int>(layout)];
}

/// As tensor maps swizzle: the 16 bytes (or 32) of a line change places by the number of their line of 128 bytes.
std::uint32_t swizzled_at(std::uint32_t at, OperandLayout layout) {
  switch (layout) {
    case OperandLayout::by_32:
      return at ^ (at >> 7 & 1u) << 4;
    case OperandLayout::by_64:
      return at ^ (at >> 7 & 3u) << 4;
    case OperandLayout::by_128:
      return at ^ (at >> 7 & 7u) << 4;
    case OperandLayout::by_128_of_32:
      return at ^ (at >> 7 & 3u) << 5;
    default:
      return at;
  }
}

std::uint64_t descriptor_of(std::uint32_t leading, std::uint32_t stride, OperandLayout layout) {
  constexpr std::uint64_t kNumbers[] = {0, 6, 4, 2, 1};
  return std::uint64_t{leading >> 4} << 16 | std::uint64_t{stride >> 4} << 32 | 1ull << 46 |
         kNumbers[static_cast<int>(layout)] << 61;
}

/// K-major: groups of eight rows, `swizzle_bytes` of k side by side.
SharedImage by_rows(const Operand& operand, int first, int rows, OperandLayout layout) {
  const auto line = static_cast<std::uint32_t>(swizzle_bytes(layout));
  const auto all = static_cast<std::uint32_t>(row_bytes(operand, 0).size());
  const std::uint32_t stride = 8 * line, leading = stride * static_cast<std::uint32_t>(rows) / 8;
  SharedImage image;
  image.bytes.resize(std::size_t{leading} * ((all + line - 1) / line));
  for (int row = 0; row < rows; ++row) {
    const auto bytes = row_bytes(operand, first + row);
    for (std::uint32_t at = 0; at < all; ++at) {
      const auto r = static_cast<std::uint32_t>(row);
      image.bytes[swizzled_at(at / line * leading + r / 8 * stride + r % 8 * line + at % line, layout)] = bytes[at];
    }
  }
  for (std::uint32_t at = 0; at < all; at += 32) image.starts.push_back(at / line * leading + at % line);
  image.descriptor = descriptor_of(leading, stride, layout);
  return image;
}

/// M- or N-major: lines of `swizzle_bytes` of rows, eight (or four) of them along k.
SharedImage by_columns(const Operand& operand, int first, int rows, OperandLayout layout) {
  const auto line = static_cast<std::uint32_t>(swizzle_bytes(layout));
  const auto bytes = static_cast<std::uint32_t>(container_bytes(operand.format));
  const std::uint32_t atom_k = layout == OperandLayout::by_128_of_32 ? 4 : 8;
  const std::uint32_t lines = (static_cast<std::uint32_t>(rows) * bytes + line - 1) / line;
  const std::uint32_t of_k = atom_k * line * lines;  // Of the groups of k.
  SharedImage image;
  image.bytes.resize(std::size_t{of_k} * static_cast<std::uint32_t>(operand.k) / atom_k);
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < operand.k; ++k) {
      const std::uint32_t across = static_cast<std::uint32_t>(row) * bytes, c = static_cast<std::uint32_t>(k);
      const std::uint32_t at = c / atom_k * of_k + across / line * atom_k * line + c % atom_k * line + across % line;
      for (std::uint32_t b = 0; b < bytes; ++b)
        image.bytes[swizzled_at(at, layout) + b] = static_cast<std::uint8_t>(operand.bits(first + row, k) >> 8 * b);
    }
  for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(operand.k); k += 32 / bytes)
    image.starts.push_back(k / atom_k * of_k);
  // Without a swizzle the offsets change their meanings.
  image.descriptor = layout == OperandLayout::plain ? descriptor_of(of_k, atom_k * line, layout)
                                                    : descriptor_of(atom_k * line, of_k, layout);
  return image;
}

}  // namespace

std::uint32_t Operand::bits(int row, int column) const {
  const double value = at(row, column);
  switch (format) {
    case F::f16:
      return f16_from_f32(static_cast<float>(value));
    case F::bf16:
      return bf16_from_f32(static_cast<float>(value));
    case F::e4m3:
      return e4m3_from_f32(static_cast<float>(value));
    case F::e5m2:
      return e5m2_from_f32(static_cast<float>(value));
    case F::e2m3:
      return small_bits(value, 3, 1, 5);
    case F::e3m2:
      return small_bits(value, 2, 3, 5);
    case F::e2m1:
      return small_bits(value, 1, 1, 3);
    case F::u8:
    case F::s8:
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(value)) & 0xffu;
    default:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
}

Operand random_operand(TensorFormat format, bool packed, int rows, int k, std::uint32_t seed) {
  std::mt19937 random(seed);
  Operand operand{format, packed, rows, k, {}};
  for (int i = 0; i < rows * k; ++i) {
    const std::uint32_t r = random();
    double value = static_cast<int>(r % 17) - (format == F::u8 ? 0 : 8);
    if (format == F::e2m1) value = (r >> 8 & 1u) != 0 ? -kE2m1[r % 8] : kE2m1[r % 8];
    if (format == F::e2m3) value = (static_cast<int>(r % 31) - 15) * 0.125;
    if (format == F::e3m2) value = (static_cast<int>(r % 15) - 7) * 0.0625;
    operand.values.push_back(value == 0 ? 0 : value);
  }
  return operand;
}

SharedImage shared_image(const Operand& operand, int first, int rows, OperandLayout layout, bool transposed) {
  return transposed ? by_columns(operand, first, rows, layout) : by_rows(operand, first, rows, layout);
}

std::uint32_t instruction_descriptor(const TensorShape& shape) {
  const auto code = [&](TensorFormat format) -> std::uint32_t {
    switch (format) {
      case F::bf16:
      case F::e5m2:
      case F::s8:
        return 1;
      case F::tf32:
        return 2;
      case F::e2m3:
        return 3;
      case F::e3m2:
        return 4;
      case F::e2m1:
        return shape.packed() ? 1 : 5;
      default:
        return 0;
    }
  };
  const auto bit = [](bool value, int at) { return static_cast<std::uint32_t>(value) << at; };
  const bool scaled = is_block_scaled(shape.kind);
  const std::uint32_t sums = shape.d == F::f16 ? 0 : shape.d == F::f32 ? 1 : 2;
  std::uint32_t bits = code(shape.a) << 7 | code(shape.b) << 10 | bit(shape.negate_a, 13) | bit(shape.negate_b, 14) |
                       bit(shape.transpose_a, 15) | bit(shape.transpose_b, 16) |
                       static_cast<std::uint32_t>(shape.n / 8) << 17 | static_cast<std::uint32_t>(shape.m / 16) << 24;
  bits |= scaled ? static_cast<std::uint32_t>(shape.scale_b) << 4 | static_cast<std::uint32_t>(shape.scale_a) << 29 |
                       bit(shape.scales_are_ue8m0, 23)
                 : sums << 4 | bit(shape.saturate, 3);
  return bits;
}

}  // namespace evo::vgpu
