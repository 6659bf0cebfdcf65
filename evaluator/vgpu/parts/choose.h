#pragma once

#include <cstdint>

#include "evaluator/vgpu/decode/form.h"
#include "evaluator/vgpu/machine/lanes.h"

/// Choosing the instance of a templated operation for an instruction's type.
namespace evo::vgpu {

/// Op<T> for 16- to 64-bit integers; untyped bits count as unsigned.
template <template <class> class Op>
Execute choose_integer(const Form& form, ptx::Type type) {
  using ptx::Type;
  switch (type) {
    case Type::u16:
    case Type::b16:
      return elementwise<Op<std::uint16_t>>(form.simd());
    case Type::s16:
      return elementwise<Op<std::int16_t>>(form.simd());
    case Type::u32:
    case Type::b32:
      return elementwise<Op<std::uint32_t>>(form.simd());
    case Type::s32:
      return elementwise<Op<std::int32_t>>(form.simd());
    case Type::u64:
    case Type::b64:
      return elementwise<Op<std::uint64_t>>(form.simd());
    case Type::s64:
      return elementwise<Op<std::int64_t>>(form.simd());
    default:
      form.unsupported("type ." + std::string(ptx::name_of(type)));
  }
}

/// Op<T> for types where signedness does not matter.
template <template <class> class Op>
Execute choose_bits(const Form& form, ptx::Type type) {
  switch (ptx::bits_of(type)) {
    case 16:
      return elementwise<Op<std::uint16_t>>(form.simd());
    case 32:
      return elementwise<Op<std::uint32_t>>(form.simd());
    case 64:
      return elementwise<Op<std::uint64_t>>(form.simd());
    default:
      form.unsupported("type ." + std::string(ptx::name_of(type)));
  }
}

/// op[0] = destination, then sources, all of one type, from the statement's operands in order.
inline void take_operands(Form& form, ptx::Type type, std::size_t sources) {
  form.destination(0, type);
  for (std::size_t i = 1; i <= sources; ++i) form.source(i, type);
}

/// The modifiers of a floating-point min or max.
struct ExtremeModifiers {
  bool flush = false;
  bool nan = false;
  bool xor_sign = false;  ///< .xorsign.abs
};
inline ExtremeModifiers take_extreme_modifiers(Form& form) {
  ExtremeModifiers modifiers;
  modifiers.flush = form.take("ftz");
  modifiers.nan = form.take("NaN");
  modifiers.xor_sign = form.take("xorsign");
  if (modifiers.xor_sign) form.take("abs");
  return modifiers;
}

/// How many machine instructions a 64-bit integer operation takes that is one of 32 bits otherwise.
inline int words_of(ptx::Type type) {
  return ptx::bits_of(type) == 64 ? 2 : 1;
}

}  // namespace evo::vgpu
