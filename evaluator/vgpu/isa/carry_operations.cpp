#include "evaluator/vgpu/isa/operations.h"

// PTX ISA 9.0, 9.7.2 "Extended-Precision Integer Arithmetic Instructions". The carry is a register of its
// own, 0 or 1 in every lane; after sub.cc it is 0 where there was a borrow.
namespace evo::vgpu {
namespace {

using ptx::Type;

enum class Step { add, sub, mad_low, mad_high };

template <class T>
EVO_INLINE T high_product(T a, T b) {
  using Double = std::conditional_t<sizeof(T) == 4, std::uint64_t, UInt128>;
  return static_cast<T>(static_cast<Double>(a) * b >> (8 * sizeof(T)));
}
EVO_INLINE std::uint32_t signed_high(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(std::int64_t{static_cast<std::int32_t>(a)} * static_cast<std::int32_t>(b) >> 32);
}
EVO_INLINE std::uint64_t signed_high(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(Int128{static_cast<std::int64_t>(a)} * static_cast<std::int64_t>(b) >> 64);
}

/// op: destination, carry out, carry in, then a, b and, for mad, c.
template <class T, Step kStep, bool kSigned>
struct WithCarry {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    const Slot<T>* a = source_row<T>(warp, in.op[3]);
    const Slot<T>* b = source_row<T>(warp, in.op[4]);
    const Slot<T>* c = source_row<T>(warp, in.op[5]);
    const Word* carry_in = warp.row(in.op[2]);
    alignas(64) Slot<T> result[32];
    alignas(64) Word carry_out[32];
    EVO_LANE_LOOP
    for (int lane = 0; lane < 32; ++lane) {
      const T carried = carry_in[lane];
      T left = get<T>(a, lane);
      T right = get<T>(b, lane);
      if constexpr (kStep == Step::mad_low) {
        left = left * right;
        right = get<T>(c, lane);
      }
      if constexpr (kStep == Step::mad_high) {
        left = kSigned ? signed_high(left, right) : high_product(left, right);
        right = get<T>(c, lane);
      }
      if constexpr (kStep == Step::sub) {
        const bool borrowed = carried == 0;
        result[lane] = left - right - static_cast<T>(borrowed);
        carry_out[lane] = left < right || (left == right && borrowed) ? 0 : 1;
      } else {
        const T sum = left + right;
        result[lane] = sum + carried;
        carry_out[lane] = sum < left || static_cast<T>(sum + carried) < sum ? 1 : 0;
      }
    }
    blend(own_row<T>(warp, in.op[0]), result, mask);
    blend(warp.own(in.op[1]), carry_out, mask);
  }
};

template <Step kStep>
void emit_with_carry(Form& form, bool uses_carry, bool sets_carry, std::size_t sources) {
  const Type type = form.type();
  form.destination(0, type);
  sets_carry ? form.carry_destination() : form.scratch(Type::u32);
  uses_carry ? form.carry_source() : form.constant(kStep == Step::sub ? 1 : 0, Type::u32);
  for (std::size_t i = 1; i <= sources; ++i) form.source(i, type);
  const Execute execute = with_integer<32>(form, type, [&]<class T>(T) {
    return Compiled<WithCarry<std::make_unsigned_t<T>, kStep, std::is_signed_v<T>>>::choose(form.simd());
  });
  const bool multiplies = kStep == Step::mad_low || kStep == Step::mad_high;
  form.emit(execute, multiplies ? OpClass::integer_multiply : OpClass::integer, words_of(type));
}

void decode_addc(Form& form) {
  decode_add_with_carry(form, true, form.take("cc"));
}
void decode_subc(Form& form) {
  decode_sub_with_borrow(form, true, form.take("cc"));
}
void decode_madc(Form& form) {
  const std::string_view part = form.take_one_of({"lo", "hi"});
  decode_mad_with_carry(form, part, true, form.take("cc"));
}

}  // namespace

void decode_add_with_carry(Form& form, bool uses_carry, bool sets_carry) {
  emit_with_carry<Step::add>(form, uses_carry, sets_carry, 2);
}

void decode_sub_with_borrow(Form& form, bool uses_carry, bool sets_carry) {
  emit_with_carry<Step::sub>(form, uses_carry, sets_carry, 2);
}

void decode_mad_with_carry(Form& form, std::string_view part, bool uses_carry, bool sets_carry) {
  if (part == "lo") return emit_with_carry<Step::mad_low>(form, uses_carry, sets_carry, 3);
  if (part == "hi") return emit_with_carry<Step::mad_high>(form, uses_carry, sets_carry, 3);
  form.unsupported("one of .lo, .hi is needed");
}

std::span<const Operation> carry_operations() {
  static constexpr Operation kOperations[] = {
      {"addc", Operands::any, decode_addc},
      {"subc", Operands::any, decode_subc},
      {"madc", Operands::any, decode_madc},
  };
  return kOperations;
}

}  // namespace evo::vgpu
