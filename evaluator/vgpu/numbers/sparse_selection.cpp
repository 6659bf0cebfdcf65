#include "evaluator/vgpu/numbers/sparse_selection.h"

namespace evo::vgpu {
namespace {

std::uint32_t unit(const TileWord* words, int index, std::size_t row, int bits) {
  const int per_word = 32 / bits;
  const std::uint32_t word = words[index / per_word].row[row] >> (index % per_word * bits);
  return bits == 32 ? word : word & ((1u << bits) - 1);
}

/// The 4 bits of metadata for a row's group-th group: two indices of a group of four, or the position in one
/// of two.
std::uint32_t group_metadata(const SparseSelection& form, const std::uint32_t* metadata, std::size_t row, int group) {
  const auto lane_of = [&](std::size_t thread) { return row % 8 * 4 + thread; };
  const auto selector = static_cast<std::size_t>(form.selector);
  const auto at = static_cast<std::size_t>(group);
  // Four threads hold 32 bits each, rows 0-7 and 8-15 apart.
  if (form.groups == 16) return metadata[lane_of(at / 8 * 2 + row / 8)] >> (4 * (at % 8)) & 15u;
  // Of 8-bit units too a thread holds all of one row: an H200 reads them so.
  if (form.groups == 8 && form.unit_bits == 8) return metadata[lane_of(2 * selector + row / 8)] >> (4 * at) & 15u;
  // Two threads, or one, hold 16 bits of each of two rows.
  const std::size_t thread = form.groups == 8 ? 2 * selector + at / 4 : selector;
  return metadata[lane_of(thread)] >> (16 * (row / 8) + 4 * (at % 4)) & 15u;
}

}  // namespace

void select_elements(const SparseSelection& form, const std::uint32_t* metadata, std::size_t row, const TileWord* b,
                     std::span<TileWord> selected) {
  const int stored = form.groups * (form.one_of_two ? 1 : 2);
  for (int i = 0; i < stored; ++i) {
    const int group = form.one_of_two ? i : i / 2;
    const std::uint32_t bits = group_metadata(form, metadata, row, group);
    const int index =
        form.one_of_two ? 2 * i + (bits == 0xeu ? 1 : 0) : 4 * group + static_cast<int>(bits >> (i % 2 * 2) & 3u);
    const int at = i * form.unit_bits;
    for (std::size_t column = 0; column < 8; ++column)
      selected[static_cast<std::size_t>(at / 32)].row[column] |= unit(b, index, column, form.unit_bits) << (at % 32);
  }
}

}  // namespace evo::vgpu
