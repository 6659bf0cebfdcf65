#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/record/enumerators.h"
#include "evaluator/vgpu/decode/form.h"
#include "evaluator/vgpu/machine/lanes.h"

/// Choosing the instance of a templated operation for an instruction's type.
namespace evo::vgpu {

/// `choose`, given a zero of the integer type in C++. Untyped bits count as unsigned. Refuses types of fewer bits.
template <std::size_t kLeastBits, class Choose>
auto with_integer(const Form& form, ptx::Type type, Choose choose) {
  using ptx::Type;
  const auto with = [&](auto zero) -> decltype(choose(std::uint64_t{})) {
    if constexpr (8 * sizeof zero >= kLeastBits) return choose(zero);
    form.unsupported("type ." + std::string(ptx::name_of(type)));
  };
  switch (type) {
    case Type::u8:
    case Type::b8:
      return with(std::uint8_t{});
    case Type::s8:
      return with(std::int8_t{});
    case Type::u16:
    case Type::b16:
      return with(std::uint16_t{});
    case Type::s16:
      return with(std::int16_t{});
    case Type::u32:
    case Type::b32:
      return with(std::uint32_t{});
    case Type::s32:
      return with(std::int32_t{});
    case Type::u64:
    case Type::b64:
      return with(std::uint64_t{});
    case Type::s64:
      return with(std::int64_t{});
    default:
      form.unsupported("type ." + std::string(ptx::name_of(type)));
  }
}

/// `choose`, given each flag as a constant: std::true_type or std::false_type.
template <class Choose>
auto with_flags(Choose choose) {
  return choose();
}
template <class Choose, class... Flags>
auto with_flags(Choose choose, bool flag, Flags... others) {
  const auto with = [&](auto first) {
    return with_flags([&](auto... rest) { return choose(first, rest...); }, others...);
  };
  return flag ? with(std::true_type()) : with(std::false_type());
}

/// `choose`, given the value as a constant: that of kFirst and kOthers which it is, or else the last.
template <auto kFirst, auto... kOthers, class Choose>
auto with_constant(decltype(kFirst) value, Choose choose) {
  if constexpr (sizeof...(kOthers) > 0)
    if (value != kFirst) return with_constant<kOthers...>(value, choose);
  return choose(std::integral_constant<decltype(kFirst), kFirst>());
}

/// `choose`, given the value of an enumeration as a constant.
template <std::size_t kNumber = 0, class Enum, class Choose>
auto with_enumerator(Enum value, Choose choose) {
  if constexpr (kNumber + 1 < kEnumerators<Enum>)
    if (value != static_cast<Enum>(kNumber)) return with_enumerator<kNumber + 1>(value, choose);
  return choose(std::integral_constant<Enum, static_cast<Enum>(kNumber)>());
}

/// The value whose name is a modifier. Nothing when none is there.
template <class Enum>
std::optional<Enum> take_enumerator(Form& form) {
  for (const std::string_view name : kEnumeratorNames<Enum>)
    if (form.take(name)) return enumerator_named<Enum>(name);
  return std::nullopt;
}

/// The value beside the modifier that is taken; `otherwise` when none is there.
template <class Value>
Value take_value(Form& form, std::initializer_list<std::pair<std::string_view, Value>> values, Value otherwise) {
  for (const auto& [modifier, value] : values)
    if (form.take(modifier)) return value;
  return otherwise;
}

/// .rn to .rp; to nearest when none is named.
inline Rounding take_rounding(Form& form) {
  return take_value(form, {{"rn", Rounding::rn}, {"rz", Rounding::rz}, {"rm", Rounding::rm}, {"rp", Rounding::rp}},
                    Rounding::rn);
}

/// Op<T> for 16- to 64-bit integers.
template <template <class> class Op>
Execute choose_integer(const Form& form, ptx::Type type) {
  return with_integer<16>(form, type, [&]<class T>(T) { return elementwise<Op<T>>(form.simd()); });
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

/// The operand of an instruction that waits for all but the latest groups: how many those are, into `immediate`.
inline void take_pending_groups(Form& form) {
  const ptx::Operand& count = form.operand(0);
  if (count.kind != ptx::Operand::Kind::integer) form.unsupported("the number of groups must be a number");
  form.instruction().immediate = static_cast<std::int64_t>(count.bits);
  form.pending_groups(static_cast<std::uint32_t>(count.bits));
}

/// How many machine instructions a 64-bit integer operation takes that is one of 32 bits otherwise.
inline int words_of(ptx::Type type) {
  return ptx::bits_of(type) == 64 ? 2 : 1;
}

}  // namespace evo::vgpu
