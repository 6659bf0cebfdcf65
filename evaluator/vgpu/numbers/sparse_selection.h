#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "evaluator/vgpu/numbers/tiles.h"

namespace evo::vgpu {

/// A sparse A stores half of its units: two of each group of four along k, or one of two for tf32. Metadata names them
/// with 4 bits for each group of each row (PTX ISA 9.0, 9.7.14.6.1 and 9.7.15.6.1). A unit is an element, or a pair of
/// 4-bit elements.
struct SparseSelection {
  int unit_bits = 16;
  bool one_of_two = false;
  int groups = 8;  ///< Along k: 4, 8 or 16.
  int selector =
      0;  ///< Which threads of each four hold the metadata: one of four for 4 groups, one of two pairs for 8.
};

/// B as one row of A sees it: the units that its stored ones are multiplied with. `metadata` is a row of 32 lanes, `b`
/// holds all words along k; `selected`, half as many, must be zero.
void select_elements(const SparseSelection& form, const std::uint32_t* metadata, std::size_t row, const TileWord* b,
                     std::span<TileWord> selected);

}  // namespace evo::vgpu
