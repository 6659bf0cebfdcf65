#include <limits>
#include <type_traits>

#include "evaluator/vgpu/isa/convert.h"
#include "evaluator/vgpu/numbers/float_bits.h"
#include "evaluator/vgpu/parts/rounded_lanes.h"

// cvt with an integer on one side, or both.
namespace evo::vgpu {
namespace {

using ptx::Type;

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

// ---- Integer to floating point

template <class From, class To>
struct ToFloat {
  static EVO_INLINE To apply(From a) { return static_cast<To>(a); }
};
/// Saturates to [0, 1], which has only two whole numbers.
template <class From, class To>
struct ToFloatSaturating {
  static EVO_INLINE To apply(From a) { return a > 0 ? To{1} : To{0}; }
};
template <class From, std::uint16_t kOne>
struct ToHalfSaturating {
  static EVO_INLINE std::uint16_t apply(From a) { return a > 0 ? kOne : std::uint16_t{0}; }
};

/// An integer as a double that rounds to a format of at most 24 bits as the integer would: beyond 53 bits, to
/// odd.
template <class From>
double odd_double(From a) {
  if constexpr (sizeof(From) == 8) {
    const auto low = static_cast<std::uint64_t>(a) & 0x7ffu;
    const bool large =
        a >= static_cast<From>(1ll << 53) || (std::is_signed_v<From> && a < static_cast<From>(-(1ll << 53)));
    if (large && low != 0) a = static_cast<From>((static_cast<std::uint64_t>(a) & ~std::uint64_t{0x7ff}) | 0x800u);
  }
  return static_cast<double>(a);
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
Execute choose_to_float(Form& form, Type to, const ConvertStyle& style) {
  switch (to) {
    case Type::f16:
      return style.saturate ? elementwise<ToHalfSaturating<From, 0x3c00>>(form.simd()) : to_half<From, f16_from_f64>;
    case Type::bf16:
      return style.saturate ? elementwise<ToHalfSaturating<From, 0x3f80>>(form.simd()) : to_half<From, bf16_from_f64>;
    case Type::f32:
      return style.saturate ? elementwise<ToFloatSaturating<From, float>>(form.simd())
                            : rounded<ToFloat<From, float>>(form.simd(), style.rounding);
    case Type::f64:
      if (style.saturate) return elementwise<ToFloatSaturating<From, double>>(form.simd());
      return rounded<ToFloat<From, double>>(form.simd(), style.rounding);
    default:
      form.unsupported();
  }
}

// ---- Floating point to integer

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
  using enum Integral;
  const auto choose = [&](auto constant) { return elementwise<ToInteger<F, To, constant>>(form.simd()); };
  return with_constant<rni, rmi, rpi, rzi>(mode, choose);
}

}  // namespace

Execute choose_integer_to_integer(Form& form, Type to, Type from, bool saturate) {
  return with_integer<8>(form, from, [&]<class From>(From) {
    if (!saturate) return choose_resize<From>(form, to);
    return with_integer<8>(form, to, []<class To>(To) { return elementwise<Clamp<From, To>>(Simd::plain); });
  });
}

Execute choose_integer_to_float(Form& form, Type to, Type from, const ConvertStyle& style) {
  return with_integer<8>(form, from, [&]<class From>(From) { return choose_to_float<From>(form, to, style); });
}

Execute choose_float_to_integer(Form& form, Type to, Type from, Integral integral) {
  return with_integer<8>(form, to, [&]<class To>(To) {
    return from == Type::f64 ? choose_mode<double, To>(form, integral) : choose_mode<float, To>(form, integral);
  });
}

}  // namespace evo::vgpu
