#include "evaluator/vgpu/machine/warpgroup_product.h"

#include <algorithm>
#include <array>

#include "evaluator/vgpu/numbers/sparse_selection.h"
#include "evaluator/vgpu/numbers/tile_fragments.h"

namespace evo::vgpu {
namespace {

using T = MmaType;
using Words = std::array<TileWord, kProductWords>;

/// -A, for the forms whose scales differ.
Words negated(std::span<const TileWord> a, T type) {
  const std::uint32_t signs = width_of(type) == 8 ? 0x80808080u : width_of(type) == 16 ? 0x80008000u : 0x80000000u;
  Words result;
  for (std::size_t i = 0; i < result.size(); ++i)
    for (std::size_t row = 0; row < 16; ++row) result[i].row[row] = a[i].row[row] ^ signs;
  return result;
}

SumRule rule_of(const WarpgroupForm& form, const TensorCoreNumerics& numerics) {
  return is_fp8(form.a) ? numerics.fp8 : form.a == T::tf32 ? numerics.tf32 : numerics.half;
}

void add_products(std::span<TileSums> sums, const WarpgroupForm& form, const SumRule& rule, std::span<const TileWord> a,
                  std::span<const TileWord> b) {
  const int per_word = 32 / width_of(form.a);
  const auto step = static_cast<std::size_t>(std::min(rule.block_k / per_word, kProductWords));
  for (std::size_t at = 0; at < kProductWords; at += step)
    add_block(sums,
              {.a = a.subspan(at, step), .b = b.subspan(at), .type_a = form.a, .type_b = form.b, .elements = per_word},
              form.accumulator, rule, kProductWords);
}

void add_integer_products(std::span<TileSums> sums, const WarpgroupForm& form, std::span<const TileWord> a,
                          std::span<const TileWord> b) {
  for (std::size_t tile = 0; tile < sums.size(); ++tile)
    add_integers(sums[tile], a.first(kProductWords), b.subspan(tile * kProductWords, kProductWords),
                 {width_of(form.a), form.a == T::s8, form.b == T::s8, form.saturate});
}

// ---- Sparse A

/// One row after another, each with a B of its own.
void add_sparse_products(std::span<TileSums> sums, const WarpgroupForm& form, const SumRule& rule,
                         std::span<const TileWord> a, const WarpShare& share) {
  const int width = width_of(form.a);
  const SparseSelection selection{width, form.a == T::tf32, width == 8 ? 16 : 8, form.selector};
  for (std::size_t tile = 0; tile < sums.size(); ++tile)
    for (std::size_t row = 0; row < 16; ++row) {
      Words selected{};
      select_elements(selection, share.metadata, row, &share.b[tile * 2 * kProductWords], selected);
      TileSums all = sums[tile];
      if (form.accumulator == T::s32)
        add_integer_products(std::span(&all, 1), form, a, selected);
      else
        add_products(std::span(&all, 1), form, rule, a, selected);
      for (std::size_t column = 0; column < 8; ++column) sums[tile][column].row[row] = all[column].row[row];
    }
}

std::string_view accumulators_of(const WarpgroupForm& form) {
  if (is_fp8(form.a) && is_fp8(form.b)) return "f32 f16";
  if (is_int8(form.a) && is_int8(form.b)) return "s32";
  if (form.a != form.b) return "";
  if (form.a == T::f16) return "f32 f16";
  if (form.a == T::bf16 || form.a == T::tf32) return "f32";
  return form.a == T::b1 && !form.sparse ? "s32" : "";
}

bool has_columns(const WarpgroupForm& form) {
  if (form.n < 8 || form.n > kMaxWarpgroupColumns || form.n % 8 != 0) return false;
  return form.accumulator != T::s32 || form.n == 8 || form.n == 24 || form.n % 16 == 0;
}

}  // namespace

bool warpgroup_supported(const WarpgroupForm& form, std::string* why) {
  const std::string_view accumulator = form.accumulator == T::f32   ? "f32"
                                       : form.accumulator == T::f16 ? "f16"
                                       : form.accumulator == T::s32 ? "s32"
                                                                    : "none";
  const bool types = accumulators_of(form).find(accumulator) != std::string_view::npos;
  const bool shape = types && has_columns(form) && form.k == 256 / width_of(form.a) * (form.sparse ? 2 : 1);
  if (!shape && why)
    *why = "wgmma has no m64n" + std::to_string(form.n) + "k" + std::to_string(form.k) + " of these types";
  return shape;
}

int accumulator_registers(const WarpgroupForm& form) {
  return form.n / (form.accumulator == T::f16 ? 4 : 2);
}

void warpgroup_product(const WarpgroupForm& form, const TensorCoreNumerics& numerics, const WarpShare& share) {
  const bool halves = form.accumulator == T::f16;
  const std::size_t per_tile = halves ? 2 : 4;
  std::array<TileSums, kMaxWarpgroupColumns / 8> storage;
  const std::span<TileSums> sums = std::span(storage).first(static_cast<std::size_t>(form.n / 8));
  for (std::size_t tile = 0; tile < sums.size(); ++tile) {
    if (!share.accumulate)
      sums[tile] = {};
    else if (halves)
      load_halves(sums[tile], share.accumulators + tile * per_tile);
    else
      load_words(sums[tile], share.accumulators + tile * per_tile);
  }
  Words minus;
  std::span<const TileWord> a = share.a;
  if (form.negate) a = minus = negated(share.a, form.a);
  if (form.sparse)
    add_sparse_products(sums, form, rule_of(form, numerics), a, share);
  else if (form.accumulator == T::s32)
    add_integer_products(sums, form, a, share.b);
  else
    add_products(sums, form, rule_of(form, numerics), a, share.b);
  for (std::size_t tile = 0; tile < sums.size(); ++tile) {
    if (halves)
      store_halves(sums[tile], share.accumulators + tile * per_tile);
    else
      store_words(sums[tile], share.accumulators + tile * per_tile);
  }
}

}  // namespace evo::vgpu
