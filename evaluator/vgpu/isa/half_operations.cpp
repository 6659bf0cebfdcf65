#include "evaluator/vgpu/isa/choose.h"
#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/isa/row_functions.h"
#include "evaluator/vgpu/numbers/approximate.h"
#include "evaluator/vgpu/numbers/half_lanes.h"

// PTX ISA 9.0, 9.7.4 "Half Precision Floating Point Instructions", with the packed pairs and bf16.
namespace evo::vgpu {
namespace {

using ptx::Type;

enum class Limit { none, saturate, relu };

template <class Format, bool kFlush, Limit kLimit>
EVO_INLINE std::uint32_t finished_half(std::uint32_t bits) {
  bits = flushed_half<Format, kFlush>(bits);
  if constexpr (kLimit == Limit::saturate) {
    const bool positive = (bits & 0x8000u) == 0 && !is_nan<Format>(bits);  // NaN and negatives give +0.
    return !positive ? 0u : (bits > Format::kOne ? Format::kOne : bits);
  }
  if constexpr (kLimit == Limit::relu) return (bits & 0x8000u) != 0 && !is_nan<Format>(bits) ? 0u : bits;
  return bits;
}

struct Add {
  template <class Format>
  static EVO_INLINE std::uint32_t of(std::uint32_t a, std::uint32_t b) {
    return Format::add(a, b);
  }
};
struct Sub {
  template <class Format>
  static EVO_INLINE std::uint32_t of(std::uint32_t a, std::uint32_t b) {
    return Format::add(a, b ^ 0x8000u);
  }
};
struct Mul {
  template <class Format>
  static EVO_INLINE std::uint32_t of(std::uint32_t a, std::uint32_t b) {
    return Format::mul(a, b);
  }
};
struct Fma {
  template <class Format>
  static EVO_INLINE std::uint32_t of(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return Format::fma(a, b, c);
  }
};
/// .oob: a factor from outside of a tensor, as copies with that fill mode mark it, makes the result zero.
struct FmaInBounds {
  static constexpr std::uint32_t kOutOfBounds = 0x7fffu;
  template <class Format>
  static EVO_INLINE std::uint32_t of(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return a == kOutOfBounds || b == kOutOfBounds ? 0u : Format::fma(a, b, c);
  }
};

template <bool kMax, bool kNan, bool kXorSign>
struct Extreme {
  template <class Format>
  static EVO_INLINE std::uint32_t of(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t sign = (a ^ b) & 0x8000u;
    if constexpr (kXorSign) {
      a &= 0x7fffu;
      b &= 0x7fffu;
    }
    const bool a_first = kMax ? ordered_half(a) > ordered_half(b) : ordered_half(a) < ordered_half(b);
    std::uint32_t result = a_first ? a : b;
    const bool a_nan = is_nan<Format>(a), b_nan = is_nan<Format>(b);
    result = a_nan ? b : (b_nan ? a : result);
    const bool nan = kNan ? a_nan || b_nan : a_nan && b_nan;
    result = nan ? Format::kNan : result;
    return kXorSign && !nan ? (result & 0x7fffu) | sign : result;
  }
};
struct Abs {
  template <class Format>
  static EVO_INLINE std::uint32_t of(std::uint32_t a) {
    return is_nan<Format>(a) ? Format::kNan : a & 0x7fffu;
  }
};
struct Neg {
  template <class Format>
  static EVO_INLINE std::uint32_t of(std::uint32_t a) {
    return is_nan<Format>(a) ? Format::kNan : a ^ 0x8000u;
  }
};

/// Op on one half, or on both halves of a word.
template <class Format, class Op, bool kPair, bool kFlush, Limit kLimit, class... Words>
EVO_INLINE std::uint32_t halves(Words... words) {
  const std::uint32_t low =
      finished_half<Format, kFlush, kLimit>(Op::template of<Format>(flushed_half<Format, kFlush>(words & 0xffffu)...));
  if constexpr (!kPair) return low;
  const std::uint32_t high =
      finished_half<Format, kFlush, kLimit>(Op::template of<Format>(flushed_half<Format, kFlush>(words >> 16)...));
  return low | high << 16;
}
template <class Format, class Op, bool kPair, bool kFlush, Limit kLimit>
struct Half1 {
  static EVO_INLINE Word apply(Word a) { return halves<Format, Op, kPair, kFlush, kLimit>(a); }
};
template <class Format, class Op, bool kPair, bool kFlush, Limit kLimit>
struct Half2 {
  static EVO_INLINE Word apply(Word a, Word b) { return halves<Format, Op, kPair, kFlush, kLimit>(a, b); }
};
template <class Format, class Op, bool kPair, bool kFlush, Limit kLimit>
struct Half3 {
  static EVO_INLINE Word apply(Word a, Word b, Word c) { return halves<Format, Op, kPair, kFlush, kLimit>(a, b, c); }
};

// ---- Choosing an instance

struct Style {
  bool flush = false;
  Limit limit = Limit::none;
};

Style take_style(Form& form) {
  Style style;
  if (!form.take_one_of({"rz", "rm", "rp"}).empty()) form.unsupported("only .rn");
  form.take("rn");
  style.flush = form.take("ftz");
  if (form.take("sat")) style.limit = Limit::saturate;
  if (form.take("relu")) style.limit = Limit::relu;
  return style;
}

template <template <class, class, bool, bool, Limit> class Arity, class Op, class Format, bool kPair, bool kFlush>
Execute choose_limit(Form& form, Limit limit) {
  switch (limit) {
    case Limit::saturate:
      return elementwise<Arity<Format, Op, kPair, kFlush, Limit::saturate>>(form.simd());
    case Limit::relu:
      return elementwise<Arity<Format, Op, kPair, kFlush, Limit::relu>>(form.simd());
    case Limit::none:
      break;
  }
  return elementwise<Arity<Format, Op, kPair, kFlush, Limit::none>>(form.simd());
}

template <template <class, class, bool, bool, Limit> class Arity, class Op>
Execute choose_half(Form& form, Type type, const Style& style) {
  switch (type) {
    case Type::f16:
      return style.flush ? choose_limit<Arity, Op, F16, false, true>(form, style.limit)
                         : choose_limit<Arity, Op, F16, false, false>(form, style.limit);
    case Type::f16x2:
      return style.flush ? choose_limit<Arity, Op, F16, true, true>(form, style.limit)
                         : choose_limit<Arity, Op, F16, true, false>(form, style.limit);
    case Type::bf16:
      return choose_limit<Arity, Op, BF16, false, false>(form, style.limit);
    case Type::bf16x2:
      return choose_limit<Arity, Op, BF16, true, false>(form, style.limit);
    default:
      form.unsupported("type ." + std::string(ptx::name_of(type)));
  }
}

/// The same without .sat and .relu: fewer instances.
template <template <class, class, bool, bool, Limit> class Arity, class Op>
Execute choose_unlimited(Form& form, Type type, bool flush) {
  switch (type) {
    case Type::f16:
      return flush ? elementwise<Arity<F16, Op, false, true, Limit::none>>(form.simd())
                   : elementwise<Arity<F16, Op, false, false, Limit::none>>(form.simd());
    case Type::f16x2:
      return flush ? elementwise<Arity<F16, Op, true, true, Limit::none>>(form.simd())
                   : elementwise<Arity<F16, Op, true, false, Limit::none>>(form.simd());
    case Type::bf16:
      return elementwise<Arity<BF16, Op, false, false, Limit::none>>(form.simd());
    case Type::bf16x2:
      return elementwise<Arity<BF16, Op, true, false, Limit::none>>(form.simd());
    default:
      form.unsupported("type ." + std::string(ptx::name_of(type)));
  }
}

template <class Op>
void decode_two(Form& form) {
  const Style style = take_style(form);
  const Type type = form.type();
  take_operands(form, type, 2);
  form.emit(choose_half<Half2, Op>(form, type, style), OpClass::half_fma);
}

void decode_fma(Form& form) {
  const Style style = take_style(form);
  const bool in_bounds = form.take("oob");
  const Type type = form.type();
  take_operands(form, type, 3);
  form.emit(in_bounds ? choose_half<Half3, FmaInBounds>(form, type, style) : choose_half<Half3, Fma>(form, type, style),
            OpClass::half_fma);
}

template <class Op>
void decode_sign(Form& form) {
  const bool flush = form.take("ftz");
  const Type type = form.type();
  take_operands(form, type, 1);
  form.emit(choose_unlimited<Half1, Op>(form, type, flush), OpClass::integer);
}

template <bool kMax>
void decode_extreme(Form& form) {
  const auto [flush, nan, xor_sign] = take_extreme_modifiers(form);
  const Type type = form.type();
  take_operands(form, type, 2);
  Execute execute = nullptr;
  if (nan) {
    execute = xor_sign ? choose_unlimited<Half2, Extreme<kMax, true, true>>(form, type, flush)
                       : choose_unlimited<Half2, Extreme<kMax, true, false>>(form, type, flush);
  } else {
    execute = xor_sign ? choose_unlimited<Half2, Extreme<kMax, false, true>>(form, type, flush)
                       : choose_unlimited<Half2, Extreme<kMax, false, false>>(form, type, flush);
  }
  form.emit(execute, OpClass::half_compare);
}

/// A function over pairs, for a single half: the upper half of the result is cleared.
template <void (*kFunction)(std::uint32_t*, const std::uint32_t*)>
void low_half_of(std::uint32_t* d, const std::uint32_t* a) {
  kFunction(d, a);
  for (int lane = 0; lane < 32; ++lane) d[lane] &= 0xffffu;
}

template <void (*kF16)(std::uint32_t*, const std::uint32_t*), void (*kBF16)(std::uint32_t*, const std::uint32_t*)>
void decode_approximate(Form& form) {
  if (!form.take("approx")) form.unsupported("only .approx");
  form.take("ftz");  // The bf16 forms have it, the f16 forms never flush.
  const Type type = form.type();
  take_operands(form, type, 1);
  switch (type) {
    case Type::f16:
      return form.emit(RowFunction<low_half_of<kF16>, 1>::execute, OpClass::special);
    case Type::f16x2:
      return form.emit(RowFunction<kF16, 1>::execute, OpClass::special, 2);
    case Type::bf16:
      return form.emit(RowFunction<low_half_of<kBF16>, 1>::execute, OpClass::special);
    default:
      return form.emit(RowFunction<kBF16, 1>::execute, OpClass::special, 2);
  }
}

constexpr Operation kOperations[] = {
    {"add", Operands::halves, decode_two<Add>},
    {"sub", Operands::halves, decode_two<Sub>},
    {"mul", Operands::halves, decode_two<Mul>},
    {"fma", Operands::halves, decode_fma},
    {"abs", Operands::halves, decode_sign<Abs>},
    {"neg", Operands::halves, decode_sign<Neg>},
    {"min", Operands::halves, decode_extreme<false>},
    {"max", Operands::halves, decode_extreme<true>},
    {"ex2", Operands::halves, decode_approximate<row::ex2_approx_f16x2, row::ex2_approx_bf16x2>},
    {"tanh", Operands::halves, decode_approximate<row::tanh_approx_f16x2, row::tanh_approx_bf16x2>},
};

}  // namespace

std::span<const Operation> half_operations() {
  return kOperations;
}

}  // namespace evo::vgpu
