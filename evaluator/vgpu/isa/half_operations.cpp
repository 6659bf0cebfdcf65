#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/numbers/approximate.h"
#include "evaluator/vgpu/numbers/half_lanes.h"
#include "evaluator/vgpu/parts/row_functions.h"

// PTX ISA 9.0, 9.7.4 "Half Precision Floating Point Instructions", with the packed pairs and bf16.
namespace evo::vgpu {
namespace {

using ptx::Type;

/// .sat and .relu, as they travel in Instruction::immediate.
constexpr std::int64_t kSaturate = 1, kRelu = 2;

template <class Format>
std::uint32_t limited_half(std::uint32_t bits, std::int64_t limit) {
  const bool negative = (bits & 0x8000u) != 0, nan = is_nan<Format>(bits);
  if (limit == kRelu) return negative && !nan ? 0u : bits;
  return negative || nan ? 0u : (bits > Format::kOne ? Format::kOne : bits);  // NaN and negatives give +0.
}

/// Op in every lane, and behind it the limit if the instruction has one.
template <class Format, class Op>
struct Limited {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    detail::Map<Op>::run(warp, in, mask);
    if (in.immediate != 0) limit(warp.own(in.op[0]), in.immediate, mask);
  }
  static void limit(Word* d, std::int64_t limit, std::uint32_t mask) {
    for (int lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1u) == 0) continue;
      const std::uint32_t low = limited_half<Format>(d[lane] & 0xffffu, limit);
      d[lane] = low | (Op::kIsPair ? limited_half<Format>(d[lane] >> 16, limit) << 16 : 0u);
    }
  }
};

template <class Format>
struct Add {
  static EVO_INLINE std::uint32_t of(std::uint32_t a, std::uint32_t b) { return Format::add(a, b); }
};
template <class Format>
struct Sub {
  static EVO_INLINE std::uint32_t of(std::uint32_t a, std::uint32_t b) { return Format::add(a, b ^ 0x8000u); }
};
template <class Format>
struct Mul {
  static EVO_INLINE std::uint32_t of(std::uint32_t a, std::uint32_t b) { return Format::mul(a, b); }
};
template <class Format>
struct Fma {
  static EVO_INLINE std::uint32_t of(std::uint32_t a, std::uint32_t b, std::uint32_t c) { return Format::fma(a, b, c); }
};
/// .oob: a factor from outside of a tensor, as copies with that fill mode mark it, makes the result zero.
template <class Format>
struct FmaInBounds {
  static constexpr std::uint32_t kOutOfBounds = 0x7fffu;
  static EVO_INLINE std::uint32_t of(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return a == kOutOfBounds || b == kOutOfBounds ? 0u : Format::fma(a, b, c);
  }
};

template <bool kMax, bool kNan, bool kXorSign>
struct Extreme {
  template <class Format>
  struct In {
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
};
template <class Format>
struct Abs {
  static EVO_INLINE std::uint32_t of(std::uint32_t a) { return is_nan<Format>(a) ? Format::kNan : a & 0x7fffu; }
};
template <class Format>
struct Neg {
  static EVO_INLINE std::uint32_t of(std::uint32_t a) { return is_nan<Format>(a) ? Format::kNan : a ^ 0x8000u; }
};

/// Op on one half, or on both halves of a word.
template <class Format, class Op, bool kPair, bool kFlush, class = decltype(&Op::of)>
struct Halves;
template <class Format, class Op, bool kPair, bool kFlush, class... Words>
struct Halves<Format, Op, kPair, kFlush, std::uint32_t (*)(Words...)> {
  static constexpr bool kIsPair = kPair;
  static EVO_INLINE std::uint32_t one(Words... half) {
    return flushed_half<Format, kFlush>(Op::of(flushed_half<Format, kFlush>(half)...));
  }
  static EVO_INLINE Word apply(Words... words) {
    const std::uint32_t low = one((words & 0xffffu)...);
    return kPair ? low | one((words >> 16)...) << 16 : low;
  }
};

// ---- Choosing an instance

/// Takes the rounding, .sat and .relu; gives .ftz.
bool take_style(Form& form) {
  if (!form.take_one_of({"rz", "rm", "rp"}).empty()) form.unsupported("only .rn");
  form.take("rn");
  const bool flush = form.take("ftz");
  if (form.take("sat")) form.instruction().immediate = kSaturate;
  if (form.take("relu")) form.instruction().immediate = kRelu;
  return flush;
}

/// For instructions without .sat and .relu.
template <class Format, class Op>
using Unlimited = detail::Map<Op>;

template <template <class, class> class Body, template <class> class Op>
Execute choose_half(Form& form, Type type, bool flush) {
  const Simd simd = form.simd();
  switch (type) {
    case Type::f16:
      return flush ? Compiled<Body<F16, Halves<F16, Op<F16>, false, true>>>::choose(simd)
                   : Compiled<Body<F16, Halves<F16, Op<F16>, false, false>>>::choose(simd);
    case Type::f16x2:
      return flush ? Compiled<Body<F16, Halves<F16, Op<F16>, true, true>>>::choose(simd)
                   : Compiled<Body<F16, Halves<F16, Op<F16>, true, false>>>::choose(simd);
    case Type::bf16:
      return Compiled<Body<BF16, Halves<BF16, Op<BF16>, false, false>>>::choose(simd);
    case Type::bf16x2:
      return Compiled<Body<BF16, Halves<BF16, Op<BF16>, true, false>>>::choose(simd);
    default:
      form.unsupported("type ." + std::string(ptx::name_of(type)));
  }
}

template <template <class> class Op>
void decode_two(Form& form) {
  const bool flush = take_style(form);
  const Type type = form.type();
  take_operands(form, type, 2);
  form.emit(choose_half<Limited, Op>(form, type, flush), OpClass::half_fma);
}

void decode_fma(Form& form) {
  const bool flush = take_style(form);
  const bool in_bounds = form.take("oob");
  const Type type = form.type();
  take_operands(form, type, 3);
  form.emit(
      in_bounds ? choose_half<Limited, FmaInBounds>(form, type, flush) : choose_half<Limited, Fma>(form, type, flush),
      OpClass::half_fma);
}

template <template <class> class Op>
void decode_sign(Form& form) {
  const bool flush = form.take("ftz");
  const Type type = form.type();
  take_operands(form, type, 1);
  form.emit(choose_half<Unlimited, Op>(form, type, flush), OpClass::integer);
}

template <bool kMax>
void decode_extreme(Form& form) {
  const ExtremeModifiers modifiers = take_extreme_modifiers(form);
  const Type type = form.type();
  take_operands(form, type, 2);
  const auto choose = [&](auto nan, auto xor_sign) {
    return choose_half<Unlimited, Extreme<kMax, nan, xor_sign>::template In>(form, type, modifiers.flush);
  };
  form.emit(with_flags(choose, modifiers.nan, modifiers.xor_sign), OpClass::half_compare);
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

}  // namespace

std::span<const Operation> half_operations() {
  static constexpr Operation kOperations[] = {
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
  return kOperations;
}

}  // namespace evo::vgpu
