#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "tests/vgpu/conformance/recorded_case.h"

/// Elements of the operands of matrix products.
namespace evo::conformance {

/// An element type by its fields; integers have no exponent.
struct Format {
  int width, exponent_bits, fraction_bits;
  bool infinity;  ///< The top exponent holds infinity and NaN; e4m3 has numbers there and NaN only as all ones.
  int skip = 0;   ///< Low bits that do not belong to the number (tf32).

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int low() const { return 1 - bias() - fraction_bits; }  ///< Exponent of the smallest subnormal.
  int high() const { return (1 << exponent_bits) - (infinity ? 2 : 1) - bias(); }
  std::uint32_t sign() const { return 1u << (exponent_bits + fraction_bits); }
  std::uint32_t largest() const {
    const std::uint32_t top = sign() - 1;
    return infinity ? top - (1u << fraction_bits) : top - 1;
  }
  std::uint32_t mask() const { return width == 32 ? ~0u : (1u << width) - 1; }

  /// +-1.fraction * 2^exponent, or a subnormal, zero or the largest number where that does not fit.
  std::uint32_t make(bool negative, int exponent, std::uint32_t fraction) const {
    const std::uint32_t below = (1u << fraction_bits) - 1;
    std::uint32_t bits;
    if (exponent > high()) {
      bits = largest();
    } else if (exponent < 1 - bias()) {
      const int shift = 1 - bias() - exponent;
      bits = shift > fraction_bits ? 0 : ((1u << fraction_bits) | (fraction & below)) >> shift;
    } else {
      bits = std::min((static_cast<std::uint32_t>(exponent + bias()) << fraction_bits) | (fraction & below), largest());
    }
    return (bits | (negative ? sign() : 0)) << skip;
  }
  std::uint32_t special(Random& random) const {
    const std::uint32_t top = ((1u << exponent_bits) - 1) << fraction_bits;
    const std::uint32_t kinds[] = {
        infinity ? top : sign() - 1, sign() - 1, 0, largest(), 1, infinity ? top | 1u << (fraction_bits - 1) : 0};
    const std::uint32_t kind = kinds[random.below(6)];
    return (kind | (random.coin() ? sign() : 0)) << skip;
  }
  /// A normally distributed number, cut.
  std::uint32_t normal(Random& random) const {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.next() >> 11) * 0x1p-53;
    int exponent = 0;
    const double magnitude = std::frexp(std::fabs(sum - 6.0), &exponent);
    return make(sum < 6.0, exponent - 1, static_cast<std::uint32_t>(std::ldexp(2 * magnitude - 1, fraction_bits)));
  }
};

inline Format format_of(const std::string& type) {
  if (type == "e4m3") return {8, 4, 3, false};
  if (type == "e5m2") return {8, 5, 2, true};
  if (type == "f16") return {16, 5, 10, true};
  if (type == "bf16") return {16, 8, 7, true};
  if (type == "tf32") return {32, 8, 10, true, 13};
  if (type == "f32") return {32, 8, 23, true};
  if (type == "s32") return {32, 0, 0, false};
  if (type == "b1") return {32, 0, 0, false};  // Words of 32 bits stand for elements.
  return {8, 0, 0, false};
}

/// Random valid metadata: two of each four elements in ascending order, or one of each two for tf32.
inline std::uint32_t random_metadata(Random& r, const std::string& type) {
  constexpr std::uint32_t kPairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
  constexpr std::uint32_t kSingles[] = {0x4, 0xe};
  std::uint32_t word = 0;
  for (int i = 0; i < 8; ++i) word |= (type == "tf32" ? kSingles[r.below(2)] : kPairs[r.below(6)]) << (4 * i);
  return word;
}

}  // namespace evo::conformance
