#include <cmath>
#include <limits>
#include <type_traits>

#include "evaluator/vgpu/choose.h"
#include "evaluator/vgpu/float_bits.h"
#include "evaluator/vgpu/float_formats.h"
#include "evaluator/vgpu/half_lanes.h"
#include "evaluator/vgpu/rounding.h"

// PTX ISA 9.0, 9.7.9 "Data Movement and Conversion Instructions": cvt, cvt.pack.
namespace evo::vgpu {
namespace {

using ptx::Type;

enum class Integral { none, nearest, zero, minus, plus };

/// The modifiers of a cvt.
struct Style {
  Integral integral = Integral::none;
  bool has_rounding = false;
  Rounding rounding = Rounding::rn;
  bool flush = false;
  bool saturate = false;
  bool saturate_finite = false;
  bool relu = false;
};

Style take_style(Form& form) {
  Style style;
  const std::string_view integral = form.take_one_of({"rni", "rzi", "rmi", "rpi"});
  if (integral == "rni") style.integral = Integral::nearest;
  if (integral == "rzi") style.integral = Integral::zero;
  if (integral == "rmi") style.integral = Integral::minus;
  if (integral == "rpi") style.integral = Integral::plus;
  const std::string_view rounding = form.take_one_of({"rn", "rz", "rm", "rp", "rna"});
  style.has_rounding = !rounding.empty();
  if (rounding == "rz") style.rounding = Rounding::rz;
  if (rounding == "rm") style.rounding = Rounding::rm;
  if (rounding == "rp") style.rounding = Rounding::rp;
  if (rounding == "rna") style.rounding = Rounding::rna;
  style.flush = form.take("ftz");
  style.saturate_finite = form.take("satfinite");
  style.saturate = form.take("sat");
  style.relu = form.take("relu");
  return style;
}

// ---- Integer to integer

template <class From, class To>
struct Resize {
  static EVO_INLINE To apply(From a) { return static_cast<To>(a); }
};
template <class From, class To>
struct Clamp {
  static EVO_INLINE To apply(From a) {
    const Int128 low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    const Int128 value = a;
    return static_cast<To>(value < low ? low : (value > high ? high : value));
  }
};

template <class From>
Execute choose_resize(Form& form, Type to) {
  switch (ptx::bits_of(to)) {
    case 8:
      return elementwise<Resize<From, std::uint8_t>>(form.simd());
    case 16:
      return elementwise<Resize<From, std::uint16_t>>(form.simd());
    case 32:
      return elementwise<Resize<From, std::uint32_t>>(form.simd());
    default:
      return elementwise<Resize<From, std::uint64_t>>(form.simd());
  }
}
template <class From>
Execute choose_clamp(Form& form, Type to) {
  switch (to) {
    case Type::u8:
      return elementwise<Clamp<From, std::uint8_t>>(Simd::plain);
    case Type::s8:
      return elementwise<Clamp<From, std::int8_t>>(Simd::plain);
    case Type::u16:
      return elementwise<Clamp<From, std::uint16_t>>(Simd::plain);
    case Type::s16:
      return elementwise<Clamp<From, std::int16_t>>(Simd::plain);
    case Type::u32:
      return elementwise<Clamp<From, std::uint32_t>>(Simd::plain);
    case Type::s32:
      return elementwise<Clamp<From, std::int32_t>>(Simd::plain);
    case Type::u64:
      return elementwise<Clamp<From, std::uint64_t>>(Simd::plain);
    case Type::s64:
      return elementwise<Clamp<From, std::int64_t>>(Simd::plain);
    default:
      form.unsupported();
  }
}
template <class From>
Execute choose_integer_to_integer(Form& form, Type to, bool saturate) {
  return saturate ? choose_clamp<From>(form, to) : choose_resize<From>(form, to);
}

/// Calls `choose.template operator()<T>()` with the C++ type of an integer type.
template <class Choose>
Execute with_integer(Form& form, Type type, Choose choose) {
  switch (type) {
    case Type::u8:
      return choose.template operator()<std::uint8_t>();
    case Type::s8:
      return choose.template operator()<std::int8_t>();
    case Type::u16:
      return choose.template operator()<std::uint16_t>();
    case Type::s16:
      return choose.template operator()<std::int16_t>();
    case Type::u32:
      return choose.template operator()<std::uint32_t>();
    case Type::s32:
      return choose.template operator()<std::int32_t>();
    case Type::u64:
      return choose.template operator()<std::uint64_t>();
    case Type::s64:
      return choose.template operator()<std::int64_t>();
    default:
      form.unsupported("type ." + std::string(ptx::name_of(type)));
  }
}

// ---- Integer to floating point

template <class From, class To>
struct ToFloat {
  static EVO_INLINE To apply(From a) { return static_cast<To>(a); }
};
template <class From>
struct ToFloatSaturating {
  static EVO_INLINE float apply(From a) { return saturated<true>(static_cast<float>(a)); }
};

/// An integer as a double that rounds to a format of at most 24 bits as the integer would: beyond 53 bits, to
/// odd.
template <class From>
double odd_double(From a) {
  if constexpr (sizeof(From) == 8) {
    const auto low = static_cast<std::uint64_t>(a) & 0x7ffu;
    const bool large =
        a >= static_cast<From>(1ll << 53) || (std::is_signed_v<From> && a < static_cast<From>(-(1ll << 53)));
    if (large && low != 0)
      a = static_cast<From>((static_cast<std::uint64_t>(a) & ~std::uint64_t{0x7ff}) | 0x800u);
  }
  return static_cast<double>(a);
}

std::int64_t encode(const Style& style) {
  return static_cast<std::int64_t>(style.rounding) | (style.saturate_finite ? 8 : 0) | (style.relu ? 16 : 0);
}
Narrowing narrowing_of(const Instruction& in) {
  Narrowing how;
  how.rounding = static_cast<Rounding>(in.immediate & 7);
  how.saturate_finite = (in.immediate & 8) != 0;
  how.relu = (in.immediate & 16) != 0;
  return how;
}

template <class From, std::uint16_t (*kNarrow)(double, Narrowing)>
void to_half(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const Narrowing how = narrowing_of(in);
  const Slot<From>* a = source_row<From>(warp, in.op[1]);
  alignas(64) Word result[32];
  for (int lane = 0; lane < 32; ++lane) result[lane] = kNarrow(odd_double(get<From>(a, lane)), how);
  blend(warp.own(in.op[0]), result, mask);
}

template <class From>
Execute choose_integer_to_float(Form& form, Type to, const Style& style) {
  switch (to) {
    case Type::f16:
      return to_half<From, f16_from_f64>;
    case Type::bf16:
      return to_half<From, bf16_from_f64>;
    case Type::f32:
      return style.saturate ? rounded<ToFloatSaturating<From>>(form.simd(), style.rounding)
                            : rounded<ToFloat<From, float>>(form.simd(), style.rounding);
    case Type::f64:
      return rounded<ToFloat<From, double>>(form.simd(), style.rounding);
    default:
      form.unsupported();
  }
}

// ---- Floating point to integer

template <Integral kMode, class F>
EVO_INLINE F integral(F x) {
  if constexpr (sizeof(F) == 4) {
    if constexpr (kMode == Integral::nearest) return __builtin_rintf(x);
    if constexpr (kMode == Integral::zero) return __builtin_truncf(x);
    if constexpr (kMode == Integral::minus) return __builtin_floorf(x);
    if constexpr (kMode == Integral::plus) return __builtin_ceilf(x);
  } else {
    if constexpr (kMode == Integral::nearest) return __builtin_rint(x);
    if constexpr (kMode == Integral::zero) return __builtin_trunc(x);
    if constexpr (kMode == Integral::minus) return __builtin_floor(x);
    if constexpr (kMode == Integral::plus) return __builtin_ceil(x);
  }
  return x;
}

template <class F, class To, Integral kMode>
struct ToInteger {
  static EVO_INLINE To apply(F a) {
    // Both bounds are powers of two or zero: exact in either format.
    constexpr To kLow = std::numeric_limits<To>::min(), kHigh = std::numeric_limits<To>::max();
    constexpr F kBelow = static_cast<F>(kLow);
    constexpr F kAbove = static_cast<F>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
    // What the hardware gives for a NaN: zero, except where a 64-bit side takes part.
    constexpr To kNan = sizeof(F) == 8 || sizeof(To) == 8
                            ? static_cast<To>(std::make_unsigned_t<To>{1} << (8 * sizeof(To) - 1))
                            : To{0};
    const F x = integral<kMode>(a);
    const bool inside = x > kBelow && x < kAbove;
    const To value = static_cast<To>(inside ? x : F{0});
    return inside ? value : (x >= kAbove ? kHigh : (x <= kBelow ? kLow : kNan));
  }
};

template <class F, class To>
Execute choose_mode(Form& form, Integral mode) {
  switch (mode) {
    case Integral::nearest:
      return elementwise<ToInteger<F, To, Integral::nearest>>(form.simd());
    case Integral::minus:
      return elementwise<ToInteger<F, To, Integral::minus>>(form.simd());
    case Integral::plus:
      return elementwise<ToInteger<F, To, Integral::plus>>(form.simd());
    default:
      return elementwise<ToInteger<F, To, Integral::zero>>(form.simd());
  }
}

// ---- Between f32 and f64

template <class F, Integral kMode, bool kFlush, bool kSaturate>
struct SameFloat {
  static EVO_INLINE F apply(F a) {
    if constexpr (sizeof(F) == 4) {
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
  switch (mode) {
    case Integral::nearest:
      return elementwise<SameFloat<F, Integral::nearest, kFlush, kSaturate>>(form.simd());
    case Integral::zero:
      return elementwise<SameFloat<F, Integral::zero, kFlush, kSaturate>>(form.simd());
    case Integral::minus:
      return elementwise<SameFloat<F, Integral::minus, kFlush, kSaturate>>(form.simd());
    case Integral::plus:
      return elementwise<SameFloat<F, Integral::plus, kFlush, kSaturate>>(form.simd());
    case Integral::none:
      break;
  }
  return elementwise<SameFloat<F, Integral::none, kFlush, kSaturate>>(form.simd());
}

template <bool kFlush>
struct SingleToDouble {
  static EVO_INLINE double apply(float a) { return static_cast<double>(flushed<kFlush>(a)); }
};
template <bool kFlush, bool kSaturate>
struct DoubleToSingle {
  // A NaN keeps its sign and the upper bits of its payload, on the CPU as on the GPU.
  static EVO_INLINE float apply(double a) {
    return saturated<kSaturate>(flushed<kFlush>(static_cast<float>(a)));
  }
};

Execute choose_double_to_single(Form& form, const Style& style) {
  if (style.flush) {
    return style.saturate ? rounded<DoubleToSingle<true, true>>(form.simd(), style.rounding)
                          : rounded<DoubleToSingle<true, false>>(form.simd(), style.rounding);
  }
  return style.saturate ? rounded<DoubleToSingle<false, true>>(form.simd(), style.rounding)
                        : rounded<DoubleToSingle<false, false>>(form.simd(), style.rounding);
}

// ---- With f16, bf16, tf32 and the 8-bit pairs

template <void (*kFunction)(std::uint32_t*, const std::uint32_t*)>
void plain_row(Warp& warp, const Instruction& in, std::uint32_t mask) {
  alignas(64) Word result[32];
  kFunction(result, warp.row(in.op[1]));
  blend(warp.own(in.op[0]), result, mask);
}
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
template <std::uint16_t (*kNarrow)(double, Narrowing)>
void double_to_half(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const Slot<double>* a = source_row<double>(warp, in.op[1]);
  alignas(64) Word result[32];
  for (int lane = 0; lane < 32; ++lane) result[lane] = kNarrow(get<double>(a, lane), narrowing_of(in));
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
  switch (mode) {
    case Integral::nearest:
      return elementwise<SameHalf<Format, Integral::nearest, kSaturate>>(form.simd());
    case Integral::zero:
      return elementwise<SameHalf<Format, Integral::zero, kSaturate>>(form.simd());
    case Integral::minus:
      return elementwise<SameHalf<Format, Integral::minus, kSaturate>>(form.simd());
    case Integral::plus:
      return elementwise<SameHalf<Format, Integral::plus, kSaturate>>(form.simd());
    case Integral::none:
      break;
  }
  return elementwise<SameHalf<Format, Integral::none, kSaturate>>(form.simd());
}

bool is_half(Type type) {
  return type == Type::f16 || type == Type::bf16;
}
bool is_integer(Type type) {
  return type >= Type::u8 && type <= Type::s64;
}
bool is_packed_byte(Type type) {
  return type == Type::e4m3x2 || type == Type::e5m2x2;
}

// ---- Decoding

OpClass convert_class(Type to, Type from) {
  return ptx::bits_of(to) == 64 && ptx::bits_of(from) == 64 && ptx::is_float(to) ? OpClass::double_fma
                                                                                 : OpClass::convert;
}

void decode_packed(Form& form, const Style& style, Type to, Type from) {
  form.destination(0, ptx::bits_of(to) == 16 ? Type::b16 : Type::b32);
  form.instruction().immediate = encode(style);
  const bool pairs_in = form.operand_count() == 2;
  form.source(1, from == Type::f32 ? Type::f32 : (ptx::bits_of(from) == 16 ? Type::b16 : Type::b32));
  if (!pairs_in) form.source(2, Type::f32);
  Execute execute = nullptr;
  if (from == Type::f32 && !pairs_in) {
    if (to == Type::f16x2) execute = packing_row<row::cvt_f16x2_f32>;
    if (to == Type::bf16x2) execute = packing_row<row::cvt_bf16x2_f32>;
    if (to == Type::e4m3x2) execute = packing_row<row::cvt_e4m3x2_f32>;
    if (to == Type::e5m2x2) execute = packing_row<row::cvt_e5m2x2_f32>;
  } else if (from == Type::f16x2 && pairs_in) {
    if (to == Type::e4m3x2) execute = narrowing_row<row::cvt_e4m3x2_f16x2>;
    if (to == Type::e5m2x2) execute = narrowing_row<row::cvt_e5m2x2_f16x2>;
  } else if (to == Type::f16x2 && pairs_in) {
    if (from == Type::e4m3x2) execute = unpacking_row<row::cvt_f16x2_e4m3x2>;
    if (from == Type::e5m2x2) execute = unpacking_row<row::cvt_f16x2_e5m2x2>;
  }
  if (execute == nullptr) form.unsupported();
  form.emit(execute, OpClass::convert_pack);
}

/// f16 and bf16 to f32: exact, then what the instruction asks further.
void widen_half(Form& form, Type from) {
  form.emit(from == Type::f16 ? plain_row<row::cvt_f32_f16> : plain_row<row::cvt_f32_bf16>,
            OpClass::convert_pack);
}

Execute choose_float_to_integer(Form& form, Type to, Type from, const Style& style) {
  return with_integer(form, to, [&]<class To>() {
    return from == Type::f64 ? choose_mode<double, To>(form, style.integral)
                             : choose_mode<float, To>(form, style.integral);
  });
}

Execute choose_narrowing(Form& form, Type to, Type from) {
  if (from == Type::f64) {
    if (to == Type::f16) return double_to_half<f16_from_f64>;
    if (to == Type::bf16) return double_to_half<bf16_from_f64>;
  } else {
    if (to == Type::f16) return narrowing_row<row::cvt_f16_f32>;
    if (to == Type::bf16) return narrowing_row<row::cvt_bf16_f32>;
    if (to == Type::tf32) return narrowing_row<row::cvt_tf32_f32>;
  }
  form.unsupported();
}

void decode_same_float(Form& form, const Style& style, Type type) {
  Execute execute = nullptr;
  switch (type) {
    case Type::f32:
      if (style.flush) {
        execute = style.saturate ? choose_same<float, true, true>(form, style.integral)
                                 : choose_same<float, true, false>(form, style.integral);
      } else {
        execute = style.saturate ? choose_same<float, false, true>(form, style.integral)
                                 : choose_same<float, false, false>(form, style.integral);
      }
      break;
    case Type::f64:
      execute = style.saturate ? choose_same<double, false, true>(form, style.integral)
                               : choose_same<double, false, false>(form, style.integral);
      break;
    case Type::f16:
      execute = style.saturate ? choose_same_half<F16, true>(form, style.integral)
                               : choose_same_half<F16, false>(form, style.integral);
      break;
    default:
      execute = style.saturate ? choose_same_half<BF16, true>(form, style.integral)
                               : choose_same_half<BF16, false>(form, style.integral);
      break;
  }
  take_operands(form, type, 1);
  form.emit(execute, OpClass::convert);
}

/// From f16 or bf16: by way of f32, which holds every such value.
void decode_from_half(Form& form, const Style& style, Type to, Type from) {
  if (to == Type::f32 && !style.saturate) {
    form.destination(0, Type::f32);
    form.source(1, Type::b16);
    return widen_half(form, from);
  }
  const std::uint32_t single = form.new_temporary(Type::f32);
  form.temporary_destination(single);
  form.source(1, Type::b16);
  widen_half(form, from);
  form.begin_another();
  form.destination(0, to == Type::tf32 ? Type::b32 : to);
  form.temporary_source(single);
  form.instruction().immediate = encode(style);
  if (to == Type::f32)
    return form.emit(choose_same<float, false, true>(form, Integral::none), OpClass::float_compare);
  if (to == Type::f64) return form.emit(elementwise<SingleToDouble<false>>(form.simd()), OpClass::convert);
  if (is_half(to)) return form.emit(choose_narrowing(form, to, Type::f32), OpClass::convert);
  form.emit(choose_float_to_integer(form, to, Type::f32, style), OpClass::convert);
}

template <class To>
struct Saturate {
  static EVO_INLINE std::uint32_t apply(std::int32_t a) {
    const std::int32_t low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    return static_cast<std::make_unsigned_t<To>>(static_cast<To>(a < low ? low : (a > high ? high : a)));
  }
};
/// Bytes: a and b above, the low half of c moved up. Halves: a above b.
template <class To>
struct Pack {
  static EVO_INLINE std::uint32_t apply(std::int32_t a, std::int32_t b, std::uint32_t c) {
    constexpr int kBits = 8 * sizeof(To);
    const std::uint32_t pair = Saturate<To>::apply(a) << kBits | Saturate<To>::apply(b);
    return sizeof(To) == 1 ? c << 16 | pair : pair;
  }
};

void decode_pack(Form& form) {
  form.take("pack");
  form.take("sat");
  const Type to = form.type();
  form.take("s32");
  form.take("b32");
  form.destination(0, Type::b32);
  form.source(1, Type::s32);
  form.source(2, Type::s32);
  if (form.operand_count() > 3) {
    form.source(3, Type::b32);
  } else {
    form.constant(0, Type::b32);
  }
  switch (to) {
    case Type::u8:
      return form.emit(elementwise<Pack<std::uint8_t>>(form.simd()), OpClass::convert_pack);
    case Type::s8:
      return form.emit(elementwise<Pack<std::int8_t>>(form.simd()), OpClass::convert_pack);
    case Type::u16:
      return form.emit(elementwise<Pack<std::uint16_t>>(form.simd()), OpClass::convert_pack);
    case Type::s16:
      return form.emit(elementwise<Pack<std::int16_t>>(form.simd()), OpClass::convert_pack);
    default:
      form.unsupported();
  }
}

void decode_cvt(Form& form) {
  if (form.statement().parts.size() > 1 && form.statement().parts[1] == "pack") return decode_pack(form);
  const Style style = take_style(form);
  const Type to = form.type();
  const Type from = form.type();
  if (is_packed_byte(to) || is_packed_byte(from) || to == Type::f16x2 || to == Type::bf16x2) {
    return decode_packed(form, style, to, from);
  }
  if (is_integer(to) && is_integer(from)) {
    form.destination(0, to);
    form.source(1, from);
    return form.emit(
        with_integer(form, from,
                     [&]<class From>() { return choose_integer_to_integer<From>(form, to, style.saturate); }),
        ptx::bits_of(to) >= 32 && ptx::bits_of(from) >= 32 && !style.saturate ? OpClass::nothing
                                                                              : OpClass::integer);
  }
  if (is_integer(from)) {
    form.destination(0, to);
    form.source(1, from);
    form.instruction().immediate = encode(style);
    return form.emit(
        with_integer(form, from,
                     [&]<class From>() { return choose_integer_to_float<From>(form, to, style); }),
        OpClass::convert);
  }
  if (to == from) return decode_same_float(form, style, to);
  if (is_half(from)) return decode_from_half(form, style, to, from);
  form.destination(0, to == Type::tf32 ? Type::b32 : to);
  form.source(1, from);
  form.instruction().immediate = encode(style);
  if (is_integer(to)) return form.emit(choose_float_to_integer(form, to, from, style), OpClass::convert);
  if (to == Type::f64) {
    return form.emit(style.flush ? elementwise<SingleToDouble<true>>(form.simd())
                                 : elementwise<SingleToDouble<false>>(form.simd()),
                     OpClass::convert);
  }
  if (to == Type::f32) return form.emit(choose_double_to_single(form, style), convert_class(to, from));
  form.emit(choose_narrowing(form, to, from), to == Type::tf32 ? OpClass::integer : OpClass::convert_pack);
}

constexpr Operation kOperations[] = {{"cvt", Operands::any, decode_cvt}};

}  // namespace

std::span<const Operation> convert_operations() {
  return kOperations;
}

}  // namespace evo::vgpu
