#pragma once

#include <cstdint>

namespace evo::conformance {

/// What the operands of a recorded matrix product show about how it sums.
enum class Probe : std::uint8_t {
  near_one,
  wide,         ///< Exponents over the whole range.
  one_big,      ///< One product above tiny ones, the gap growing from row to row. Of wgmma only.
  cancelling,   ///< Big products cancel; the tiny ones were aligned to them or were not.
  big_c,        ///< The accumulator exceeds tiny products more and more.
  cancelled_c,  ///< The accumulator cancels a product.
  smallest,
  largest,
  specials,
  any_bits,
  one_sign,
  normal,  ///< Of wgmma only.
};

}  // namespace evo::conformance
