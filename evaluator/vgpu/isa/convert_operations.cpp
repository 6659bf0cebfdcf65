#include "evaluator/vgpu/isa/convert.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/numbers/float_bits.h"
#include "evaluator/vgpu/numbers/half_lanes.h"
#include "evaluator/vgpu/numbers/row_conversions.h"
#include "evaluator/vgpu/parts/rounded_lanes.h"
#include "evaluator/vgpu/parts/row_functions.h"

// PTX ISA 9.0, 9.7.9 "Data Movement and Conversion Instructions": cvt, cvt.pack.
namespace evo::vgpu {

std::int64_t encode(const ConvertStyle& style) {
  return static_cast<std::int64_t>(style.rounding) | (style.saturate_finite ? 8 : 0) | (style.relu ? 16 : 0);
}
Narrowing narrowing_of(const Instruction& in) {
  Narrowing how;
  how.rounding = static_cast<Rounding>(in.immediate & 7);
  how.saturate_finite = (in.immediate & 8) != 0;
  how.relu = (in.immediate & 16) != 0;
  return how;
}

namespace {

using ptx::Type;

ConvertStyle take_style(Form& form) {
  ConvertStyle style;
  style.integral = take_enumerator<Integral>(form).value_or(Integral::none);
  style.rounding = take_enumerator<Rounding>(form).value_or(Rounding::rn);
  style.flush = form.take("ftz");
  style.saturate_finite = form.take("satfinite");
  style.saturate = form.take("sat");
  style.relu = form.take("relu");
  return style;
}

// ---- Between f32 and f64

template <class F, Integral kMode, bool kFlush, bool kSaturate>
struct SameFloat {
  static EVO_INLINE F apply(F a) {
    if constexpr (sizeof(F) == 4) {
      // A move: NaNs keep their bits.
      if constexpr (kMode == Integral::none && !kFlush && !kSaturate) return a;
      return saturated<kSaturate>(canonical(integral<kMode>(flushed<kFlush>(a))));
    } else {
      const F x = integral<kMode>(a);
      if constexpr (!kSaturate) return x;
      return x > 0 ? (x < 1 ? x : F{1}) : F{0};
    }
  }
};
template <class F, bool kFlush, bool kSaturate>
Execute choose_same(Form& form, Integral mode) {
  return with_enumerator(
      mode, [&](auto constant) { return elementwise<SameFloat<F, constant, kFlush, kSaturate>>(form.simd()); });
}

template <bool kFlush>
struct SingleToDouble {
  static EVO_INLINE double apply(float a) { return static_cast<double>(kFlush ? canonical(flushed<true>(a)) : a); }
};
template <bool kFlush, bool kSaturate>
struct DoubleToSingle {
  // A NaN keeps its sign and the upper bits of its payload, on the CPU as on the GPU.
  static EVO_INLINE float apply(double a) { return saturated<kSaturate>(flushed<kFlush>(static_cast<float>(a))); }
};

Execute choose_double_to_single(Form& form, const ConvertStyle& style) {
  const auto choose = [&](auto flush, auto saturate) {
    return rounded<DoubleToSingle<flush, saturate>>(form.simd(), style.rounding);
  };
  return with_flags(choose, style.flush, style.saturate);
}

template <class Op, class From>
struct Saturating {
  static EVO_INLINE double apply(From a) { return saturated<true>(Op::apply(a)); }
};
Execute choose_single_to_double(Form& form, const ConvertStyle& style) {
  const auto choose = [&](auto flush) {
    return style.saturate ? elementwise<Saturating<SingleToDouble<flush>, float>>(form.simd())
                          : elementwise<SingleToDouble<flush>>(form.simd());
  };
  return with_flags(choose, style.flush);
}

// ---- With f16, bf16, tf32 and the 8-bit pairs

template <void (*kFunction)(std::uint32_t*, const std::uint32_t*, Narrowing)>
void narrowing_row(Warp& warp, const Instruction& in, std::uint32_t mask) {
  alignas(64) Word result[32];
  kFunction(result, warp.row(in.op[1]), narrowing_of(in));
  blend(warp.own(in.op[0]), result, mask);
}
template <void (*kFunction)(std::uint32_t*, const std::uint32_t*, const std::uint32_t*, Narrowing)>
void packing_row(Warp& warp, const Instruction& in, std::uint32_t mask) {
  alignas(64) Word result[32];
  kFunction(result, warp.row(in.op[1]), warp.row(in.op[2]), narrowing_of(in));
  blend(warp.own(in.op[0]), result, mask);
}
template <void (*kFunction)(std::uint32_t*, const std::uint32_t*, bool)>
void unpacking_row(Warp& warp, const Instruction& in, std::uint32_t mask) {
  alignas(64) Word result[32];
  kFunction(result, warp.row(in.op[1]), narrowing_of(in).relu);
  blend(warp.own(in.op[0]), result, mask);
}
template <std::uint16_t (*kNarrow)(double, Narrowing), bool kSaturate>
void double_to_half(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const Slot<double>* a = source_row<double>(warp, in.op[1]);
  alignas(64) Word result[32];
  for (int lane = 0; lane < 32; ++lane)
    result[lane] = kNarrow(saturated<kSaturate>(get<double>(a, lane)), narrowing_of(in));
  blend(warp.own(in.op[0]), result, mask);
}

template <class Format, Integral kMode, bool kSaturate>
struct SameHalf {
  static EVO_INLINE std::uint16_t apply(std::uint16_t a) {
    const float x = integral<kMode>(Format::widen(a));
    return static_cast<std::uint16_t>(Format::narrow(kSaturate ? saturated<true>(x) : x));
  }
};
template <class Format, bool kSaturate>
Execute choose_same_half(Form& form, Integral mode) {
  return with_enumerator(
      mode, [&](auto constant) { return elementwise<SameHalf<Format, constant, kSaturate>>(form.simd()); });
}

bool is_half(Type type) {
  return type == Type::f16 || type == Type::bf16;
}
bool is_integer(Type type) {
  return type >= Type::u8 && type <= Type::s64;
}
/// What a conversion of single values reads; it writes tf32, too.
bool is_number(Type type) {
  return is_integer(type) || is_half(type) || type == Type::f32 || type == Type::f64;
}
/// Pairs of 8 bits or less each.
bool is_packed_byte(Type type) {
  return type >= Type::e4m3x2;
}

/// A conversion of pairs: two f32 become a pair, or one pair another.
struct PairConversion {
  Type to, from;
  Execute execute;
  bool nearest;  ///< .rn alone; others round towards zero or up.
};
constexpr PairConversion kPairConversions[] = {
    {Type::e4m3x2, Type::f32, packing_row<row::cvt_e4m3x2_f32>, true},
    {Type::e5m2x2, Type::f32, packing_row<row::cvt_e5m2x2_f32>, true},
    {Type::e2m1x2, Type::f32, packing_row<row::cvt_e2m1x2_f32>, true},
    {Type::e2m3x2, Type::f32, packing_row<row::cvt_e2m3x2_f32>, true},
    {Type::e3m2x2, Type::f32, packing_row<row::cvt_e3m2x2_f32>, true},
    {Type::ue8m0x2, Type::f32, packing_row<row::cvt_ue8m0x2_f32>, false},
    {Type::e4m3x2, Type::f16x2, narrowing_row<row::cvt_e4m3x2_f16x2>, true},
    {Type::e5m2x2, Type::f16x2, narrowing_row<row::cvt_e5m2x2_f16x2>, true},
    {Type::ue8m0x2, Type::bf16x2, narrowing_row<row::cvt_ue8m0x2_bf16x2>, false},
    {Type::f16x2, Type::e4m3x2, unpacking_row<row::cvt_f16x2_e4m3x2>, true},
    {Type::f16x2, Type::e5m2x2, unpacking_row<row::cvt_f16x2_e5m2x2>, true},
    {Type::f16x2, Type::e2m1x2, unpacking_row<row::cvt_f16x2_e2m1x2>, true},
    {Type::f16x2, Type::e2m3x2, unpacking_row<row::cvt_f16x2_e2m3x2>, true},
    {Type::f16x2, Type::e3m2x2, unpacking_row<row::cvt_f16x2_e3m2x2>, true},
    {Type::bf16x2, Type::ue8m0x2, unpacking_row<row::cvt_bf16x2_ue8m0x2>, true},
};

// ---- Decoding

Execute choose_packed(Form& form, const ConvertStyle& style, Type to, Type from, bool pairs_in) {
  if (from == Type::f32 && to == Type::f16x2 && !pairs_in) return packing_row<row::cvt_f16x2_f32>;
  if (from == Type::f32 && to == Type::bf16x2 && !pairs_in) return packing_row<row::cvt_bf16x2_f32>;
  for (const PairConversion& pair : kPairConversions) {
    if (pair.to != to || pair.from != from || pairs_in != (from != Type::f32)) continue;
    const bool rounds_so = pair.nearest ? style.rounding == Rounding::rn
                                        : style.rounding == Rounding::rz || style.rounding == Rounding::rp;
    if (!rounds_so) form.unsupported("the rounding");
    return pair.execute;
  }
  form.unsupported();
}

void decode_packed(Form& form, const ConvertStyle& style, Type to, Type from) {
  const auto bits = [](Type type) {
    return ptx::bits_of(type) == 8 ? Type::b8 : ptx::bits_of(type) == 16 ? Type::b16 : Type::b32;
  };
  form.destination(0, bits(to));
  form.instruction().immediate = encode(style);
  const bool pairs_in = form.operand_count() == 2;
  form.source(1, from == Type::f32 ? Type::f32 : bits(from));
  if (!pairs_in) form.source(2, Type::f32);
  form.emit(choose_packed(form, style, to, from, pairs_in), is_packed_byte(to)     ? OpClass::convert_to_fp8
                                                            : is_packed_byte(from) ? OpClass::convert_from_fp8
                                                                                   : OpClass::convert_pack);
}

/// f16 and bf16 to f32: exact, then what the instruction asks further.
void widen_half(Form& form, Type from) {
  form.emit(from == Type::f16 ? RowFunction<row::cvt_f32_f16, 1>::execute : RowFunction<row::cvt_f32_bf16, 1>::execute,
            OpClass::convert_pack);
}

Execute choose_narrowing(Form& form, Type to, Type from, bool saturate = false) {
  if (from == Type::f64) {
    if (to == Type::f16) return saturate ? double_to_half<f16_from_f64, true> : double_to_half<f16_from_f64, false>;
    if (to == Type::bf16) return saturate ? double_to_half<bf16_from_f64, true> : double_to_half<bf16_from_f64, false>;
  } else {
    if (to == Type::f16) return narrowing_row<row::cvt_f16_f32>;
    if (to == Type::bf16) return narrowing_row<row::cvt_bf16_f32>;
    if (to == Type::tf32) return narrowing_row<row::cvt_tf32_f32>;
  }
  form.unsupported();
}

void decode_same_float(Form& form, const ConvertStyle& style, Type type) {
  const auto choose = [&](auto flush, auto saturate) {
    if (type == Type::f32) return choose_same<float, flush, saturate>(form, style.integral);
    if (type == Type::f64) return choose_same<double, false, saturate>(form, style.integral);
    return type == Type::f16 ? choose_same_half<F16, saturate>(form, style.integral)
                             : choose_same_half<BF16, saturate>(form, style.integral);
  };
  take_operands(form, type, 1);
  form.emit(with_flags(choose, style.flush, style.saturate), OpClass::convert);
}

/// A NaN keeps its sign and payload and becomes quiet.
struct HalfToDouble {
  static EVO_INLINE double apply(std::uint16_t a) {
    const std::uint64_t nan = std::uint64_t{a & 0x8000u} << 48 | 0x7ff8ull << 48 | std::uint64_t{a & 0x3ffu} << 42;
    return (a & 0x7fffu) > F16::kInfinity ? with_bits<double>(nan) : static_cast<double>(F16::widen(a));
  }
};

/// From f16 or bf16: by way of f32, which holds every such value.
void decode_from_half(Form& form, const ConvertStyle& style, Type to, Type from) {
  if (to == Type::f32 && !style.saturate) {
    form.destination(0, Type::f32);
    form.source(1, Type::b16);
    return widen_half(form, from);
  }
  if (to == Type::f64 && from == Type::f16) {
    form.destination(0, Type::f64);
    form.source(1, Type::b16);
    return form.emit(style.saturate ? elementwise<Saturating<HalfToDouble, std::uint16_t>>(form.simd())
                                    : elementwise<HalfToDouble>(form.simd()),
                     OpClass::convert);
  }
  const std::uint32_t single = form.new_temporary(Type::f32);
  form.temporary_destination(single);
  form.source(1, Type::b16);
  widen_half(form, from);
  form.begin_another();
  form.destination(0, to == Type::tf32 ? Type::b32 : to);
  form.temporary_source(single);
  form.instruction().immediate = encode(style);
  if (to == Type::f32) return form.emit(choose_same<float, false, true>(form, Integral::none), OpClass::float_compare);
  if (to == Type::f64) return form.emit(choose_single_to_double(form, style), OpClass::convert);
  if (is_half(to)) return form.emit(choose_narrowing(form, to, Type::f32), OpClass::convert);
  form.emit(choose_float_to_integer(form, to, Type::f32, style.integral), OpClass::convert);
}

template <int kBits, bool kSigned>
EVO_INLINE std::uint32_t saturate_to_bits(std::int32_t a) {
  constexpr std::int32_t kHigh = (1 << (kSigned ? kBits - 1 : kBits)) - 1, kLow = kSigned ? -kHigh - 1 : 0;
  return static_cast<std::uint32_t>(a < kLow ? kLow : (a > kHigh ? kHigh : a)) & ((1u << kBits) - 1);
}
/// From the low bits up: b, a, and the low bits of c where there is room. Halves leave none for c.
template <int kBits, bool kSigned>
struct Pack {
  static EVO_INLINE std::uint32_t apply(std::int32_t a, std::int32_t b, std::uint32_t c) {
    const std::uint32_t pair = saturate_to_bits<kBits, kSigned>(a) << kBits | saturate_to_bits<kBits, kSigned>(b);
    return kBits < 16 ? c << (2 * kBits % 32) | pair : pair;
  }
};
template <int kBits>
void emit_pack(Form& form, bool is_signed) {
  form.emit(is_signed ? elementwise<Pack<kBits, true>>(form.simd()) : elementwise<Pack<kBits, false>>(form.simd()),
            OpClass::convert_pack);
}

void decode_pack(Form& form) {
  form.take("pack");
  form.take("sat");
  const std::string_view to = form.take_one_of({"s16", "u16", "s8", "u8", "s4", "u4", "s2", "u2"});
  form.take("s32");
  form.take("b32");
  form.destination(0, Type::b32);
  form.source(1, Type::s32);
  form.source(2, Type::s32);
  form.operand_count() > 3 ? form.source(3, Type::b32) : form.constant(0, Type::b32);
  if (to.empty()) form.unsupported();
  const bool is_signed = to.front() == 's';
  switch (to.back()) {
    case '6':
      return emit_pack<16>(form, is_signed);
    case '8':
      return emit_pack<8>(form, is_signed);
    case '4':
      return emit_pack<4>(form, is_signed);
    default:
      return emit_pack<2>(form, is_signed);
  }
}

void decode_from_integer(Form& form, const ConvertStyle& style, Type to, Type from) {
  form.destination(0, to);
  form.source(1, from);
  if (!is_integer(to)) {
    form.instruction().immediate = encode(style);
    return form.emit(choose_integer_to_float(form, to, from, style), OpClass::convert);
  }
  // Between whole registers only the name changes.
  const bool renames = ptx::bits_of(to) >= 32 && ptx::bits_of(from) >= 32 && !style.saturate;
  form.emit(choose_integer_to_integer(form, to, from, style.saturate), renames ? OpClass::nothing : OpClass::integer);
}

void decode_to_integer(Form& form, const ConvertStyle& style, Type to, Type from) {
  if (from == Type::f32 && style.flush) {
    const std::uint32_t kept = form.new_temporary(Type::f32);
    form.temporary_destination(kept);
    form.source(1, from);
    form.emit(choose_same<float, true, false>(form, Integral::none), OpClass::nothing);
    form.begin_another();
    form.destination(0, to);
    form.temporary_source(kept);
  } else {
    form.destination(0, to);
    form.source(1, from);
  }
  form.emit(choose_float_to_integer(form, to, from, style.integral), OpClass::convert);
}

/// Into [0, 1] first: both ends are halves, so rounding keeps them. The hardware does not flush here.
void decode_saturated_half(Form& form, const ConvertStyle& style, Type to) {
  const std::uint32_t kept = form.new_temporary(Type::f32);
  form.temporary_destination(kept);
  form.source(1, Type::f32);
  form.emit(choose_same<float, false, true>(form, Integral::none), OpClass::float_compare);
  form.begin_another();
  form.destination(0, to);
  form.temporary_source(kept);
  form.instruction().immediate = encode(style);
  form.emit(choose_narrowing(form, to, Type::f32), OpClass::convert_pack);
}

void decode_cvt(Form& form) {
  if (form.statement().parts.size() > 1 && form.statement().parts[1] == "pack") return decode_pack(form);
  const ConvertStyle style = take_style(form);
  const Type to = form.type();
  const Type from = form.type();
  if (is_packed_byte(to) || is_packed_byte(from) || to == Type::f16x2 || to == Type::bf16x2) {
    return decode_packed(form, style, to, from);
  }
  if (!is_number(from) || (!is_number(to) && to != Type::tf32)) form.unsupported();
  if (is_integer(from)) return decode_from_integer(form, style, to, from);
  if (to == from) return decode_same_float(form, style, to);
  if (is_half(from)) return decode_from_half(form, style, to, from);
  if (is_integer(to)) return decode_to_integer(form, style, to, from);
  if (is_half(to) && from == Type::f32 && style.saturate) return decode_saturated_half(form, style, to);
  form.destination(0, to == Type::tf32 ? Type::b32 : to);
  form.source(1, from);
  form.instruction().immediate = encode(style);
  if (to == Type::f64) return form.emit(choose_single_to_double(form, style), OpClass::convert);
  if (to == Type::f32) return form.emit(choose_double_to_single(form, style), OpClass::convert);
  form.emit(choose_narrowing(form, to, from, style.saturate),
            to == Type::tf32 ? OpClass::integer : OpClass::convert_pack);
}

}  // namespace

std::span<const Operation> convert_operations() {
  static constexpr Operation kOperations[] = {{"cvt", Operands::any, decode_cvt}};
  return kOperations;
}

}  // namespace evo::vgpu
