#pragma once

#include <array>
#include <span>
#include <string_view>

#include "evaluator/vgpu/decode/form.h"
#include "evaluator/vgpu/numbers/mma_form.h"

namespace evo::vgpu {

/// All 32 lanes must take part, together. False when they have not come yet, or never can: then the warp has failed.
bool gather_whole_warp(Warp& warp, const Instruction& in, std::uint32_t& mask);

/// The registers of a product's matrices.
struct MmaFragments {
  std::span<const ptx::Operand> d, a, b, c;
  std::span<const ptx::Operand> metadata = {};  ///< Of sparse forms: one.
  /// Of forms with scales: the word, the byte's and the thread's number, of A and then of B.
  std::array<const ptx::Operand*, 6> scales{};
};
/// Adds a matrix product as the form's next instruction. Throws when it is not supported or the registers do not fit.
void emit_mma(Form& form, const MmaForm& mma, const MmaFragments& registers);

/// "f16" to "s32", the types of matrices. Consumes the next modifier; throws when it is none.
MmaType take_mma_type(Form& form);
/// .xor.popc or .and.popc of products of single bits.
void take_mma_bits(Form& form, MmaForm& mma);
/// The types of D and C, once that of A is known. Throws when they do not go together.
void set_mma_sums(Form& form, MmaForm& mma, MmaType d, MmaType c);
/// The shape of a matrix product, as its modifier names it. A letter that is missing gives 0.
struct ProductShape {
  std::string_view text;  ///< "m16n8k32".
  int m = 0, n = 0, k = 0;
};
/// Consumes the next modifier.
ProductShape take_product_shape(Form& form);
/// Likewise, into the form.
void take_mma_shape(Form& form, MmaForm& mma);

}  // namespace evo::vgpu
