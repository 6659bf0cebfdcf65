#include <cmath>
#include <functional>
#include <limits>

#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/numbers/approximate.h"
#include "evaluator/vgpu/numbers/float_bits.h"
#include "evaluator/vgpu/numbers/row_conversions.h"
#include "evaluator/vgpu/parts/rounded_lanes.h"
#include "evaluator/vgpu/parts/row_functions.h"

// PTX ISA 9.0, 9.7.3 "Floating Point Instructions".
namespace evo::vgpu {
namespace {

using ptx::Type;

// ---- f32 and f64 arithmetic

/// What the hardware makes of a NaN: the canonical one in f32, the same one but quiet in f64.
EVO_INLINE float quiet(float x) {
  return canonical(x);
}
EVO_INLINE double quiet(double x) {
  return with_bits<double>(bits_in(x) | 1ull << 51);
}

using Add = std::plus<>;
using Sub = std::minus<>;
using Mul = std::multiplies<>;
using Div = std::divides<>;
struct Fma {
  EVO_INLINE float operator()(float a, float b, float c) const { return __builtin_fmaf(a, b, c); }
  EVO_INLINE double operator()(double a, double b, double c) const { return __builtin_fma(a, b, c); }
};
struct Reciprocal {
  template <class T>
  EVO_INLINE T operator()(T a) const {
    return T{1} / a;
  }
};
struct SquareRoot {
  EVO_INLINE float operator()(float a) const { return __builtin_sqrtf(a); }
  EVO_INLINE double operator()(double a) const { return __builtin_sqrt(a); }
};

template <class Op, bool kFlush, bool kSaturate, class... Floats>
struct Single {
  static EVO_INLINE float apply(Floats... values) {
    return finished<kFlush, kSaturate>(Op()(flushed<kFlush>(values)...));
  }
};
template <class Op, class... Doubles>
struct Double {
  static EVO_INLINE double apply(Doubles... values) { return Op()(values...); }
};
/// Of two NaNs the second one remains, except of a division.
template <class Op>
struct Double<Op, double, double> {
  static EVO_INLINE double apply(double a, double b) {
    if constexpr (!std::is_same_v<Op, Div>)
      if (a != a && b != b) return quiet(b);
    return Op()(a, b);
  }
};

/// The modifiers shared by most: .rn/.rz/.rm/.rp, .ftz, .sat.
struct Style {
  Rounding rounding = Rounding::rn;
  bool flush = false;
  bool saturate = false;
};

Style take_style(Form& form) {
  Style style;
  style.rounding = take_rounding(form);
  style.flush = form.take("ftz");
  style.saturate = form.take("sat");
  return style;
}

template <class Op, class... Floats>
Execute choose_single(Form& form, const Style& style) {
  const auto choose = [&](auto flush, auto saturate) {
    return rounded<Single<Op, flush, saturate, Floats...>>(form.simd(), style.rounding);
  };
  return with_flags(choose, style.flush, style.saturate);
}

/// f32x2: the same in both halves.
template <class Op, bool kFlush, class... Pairs>
struct SinglePair {
  template <class>
  using Half = float;
  static EVO_INLINE std::uint64_t apply(Pairs... pairs) {
    using One = Single<Op, kFlush, false, Half<Pairs>...>;
    const float low = One::apply(with_bits<float>(static_cast<std::uint32_t>(pairs))...);
    const float high = One::apply(with_bits<float>(static_cast<std::uint32_t>(pairs >> 32))...);
    return std::uint64_t{bits_in(high)} << 32 | bits_in(low);
  }
};

template <class Op, class... Pairs>
void emit_pairs(Form& form, const Style& style) {
  if (style.saturate) form.unsupported(".sat is not for .f32x2");
  take_operands(form, Type::f32x2, sizeof...(Pairs));
  const auto choose = [&](auto flush) { return rounded<SinglePair<Op, flush, Pairs...>>(form.simd(), style.rounding); };
  form.emit(with_flags(choose, style.flush), OpClass::float_fma, 2);
}

/// f32 arithmetic with sources of f16 or bf16, all but the last: they are widened first.
template <class Op, class... Floats>
void emit_mixed(Form& form, const Style& style, Type narrow) {
  if (narrow != Type::f16 && narrow != Type::bf16) form.unsupported();
  constexpr std::size_t kNarrow = sizeof...(Floats) - 1;
  std::uint32_t wide[kNarrow];
  for (std::size_t i = 0; i < kNarrow; ++i) {
    wide[i] = form.new_temporary(Type::f32);
    form.temporary_destination(wide[i]);
    form.source(i + 1, Type::b16);
    form.emit(
        narrow == Type::f16 ? RowFunction<row::cvt_f32_f16, 1>::execute : RowFunction<row::cvt_f32_bf16, 1>::execute,
        OpClass::nothing);
    form.begin_another();
  }
  form.destination(0, Type::f32);
  for (const std::uint32_t source : wide) form.temporary_source(source);
  form.source(kNarrow + 1, Type::f32);
  form.emit(choose_single<Op, Floats...>(form, style), OpClass::float_fma);
}

OpClass fma_class(Type type) {
  return type == Type::f64 ? OpClass::double_fma : OpClass::float_fma;
}

void check_double_style(Form& form, const Style& style) {
  if (style.flush || style.saturate) form.unsupported(".ftz and .sat are not for .f64");
}

template <class Op>
void decode_two(Form& form) {
  const Style style = take_style(form);
  const Type type = form.type();
  if (type == Type::f32x2) return emit_pairs<Op, std::uint64_t, std::uint64_t>(form, style);
  if (const auto narrow = form.optional_type()) return emit_mixed<Op, float, float>(form, style, *narrow);
  take_operands(form, type, 2);
  if (type == Type::f32) return form.emit(choose_single<Op, float, float>(form, style), fma_class(type));
  check_double_style(form, style);
  form.emit(rounded<Double<Op, double, double>>(form.simd(), style.rounding), fma_class(type));
}

void decode_fma(Form& form) {
  const Style style = take_style(form);
  const Type type = form.type();
  if (type == Type::f32x2) return emit_pairs<Fma, std::uint64_t, std::uint64_t, std::uint64_t>(form, style);
  if (const auto narrow = form.optional_type()) return emit_mixed<Fma, float, float, float>(form, style, *narrow);
  take_operands(form, type, 3);
  if (type == Type::f32) return form.emit(choose_single<Fma, float, float, float>(form, style), fma_class(type));
  check_double_style(form, style);
  form.emit(rounded<Double<Fma, double, double, double>>(form.simd(), style.rounding), fma_class(type));
}

// ---- Division and roots

/// a / b by the approximate reciprocal. Divisors near the ends of the range are scaled, so that the
/// reciprocal is normal; but .approx leaves the largest alone, whose reciprocals are flushed.
template <bool kFlush, bool kFull>
struct DivApprox {
  static void execute(Warp& warp, const Instruction& in, std::uint32_t mask) {
    const Word* a = warp.row(in.op[1]);
    const Word* b = warp.row(in.op[2]);
    alignas(64) Word divisor[32];
    alignas(64) Word scale[32];
    for (int lane = 0; lane < 32; ++lane) {
      const float value = flushed<kFlush>(get<float>(b, lane));
      const float size = std::fabs(value);
      const float factor = size > 0x1p126f ? 0.25f : (!kFlush && size < 0x1p-126f ? 0x1p24f : 1.0f);
      const bool flushed_away = !kFull && size > 0x1p126f && size < HUGE_VALF;
      put<float>(divisor, lane, flushed_away ? value * HUGE_VALF : value * factor);
      put<float>(scale, lane, factor);
    }
    alignas(64) Word reciprocal[32];
    row::rcp_approx(reciprocal, divisor, kFlush ? Subnormals::flush : Subnormals::keep);
    alignas(64) Word result[32];
    for (int lane = 0; lane < 32; ++lane) {
      const float numerator = flushed<kFlush>(get<float>(a, lane));
      put<float>(result, lane,
                 finished<kFlush, false>(numerator * get<float>(reciprocal, lane) * get<float>(scale, lane)));
    }
    blend(warp.own(in.op[0]), result, mask);
  }
};

void decode_div(Form& form) {
  const std::string_view approximation = form.take_one_of({"approx", "full"});
  const Style style = take_style(form);
  const Type type = form.type();
  take_operands(form, type, 2);
  if (type == Type::f64) {
    check_double_style(form, style);
    return form.emit(rounded<Double<Div, double, double>>(form.simd(), style.rounding), OpClass::double_fma, 10);
  }
  if (!approximation.empty()) {
    const auto choose = [](auto flush, auto full) -> Execute { return DivApprox<flush, full>::execute; };
    return form.emit(with_flags(choose, style.flush, approximation == "full"), OpClass::special, 1);
  }
  form.emit(choose_single<Div, float, float>(form, style), OpClass::float_fma, 9);
}

/// The upper word of a double's reciprocal (or reciprocal root); the lower word is zero.
template <std::uint32_t (*kFunction)(std::uint32_t)>
struct DoubleApprox {
  static EVO_INLINE std::uint64_t apply(std::uint64_t a) {
    return std::uint64_t{kFunction(static_cast<std::uint32_t>(a >> 32))} << 32;
  }
};

/// rsqrt.approx.f64 is a routine that ptxas adds, good to the last place or two; ftz names the instruction that it
/// begins with.
struct DoubleRoot {
  static EVO_INLINE double apply(double a) {
    if (a < 0) return with_bits<double>(0xfff8'0000'0000'0000ull);
    return static_cast<double>(1.0L / __builtin_sqrtl(static_cast<long double>(a)));
  }
};

template <void (*kFunction)(std::uint32_t*, const std::uint32_t*, Subnormals)>
struct Approximation {
  static void keep(std::uint32_t* d, const std::uint32_t* a) { kFunction(d, a, Subnormals::keep); }
  static void flush(std::uint32_t* d, const std::uint32_t* a) { kFunction(d, a, Subnormals::flush); }
  static Execute choose(bool flushes) {
    return flushes ? RowFunction<flush, 1>::execute : RowFunction<keep, 1>::execute;
  }
};

void decode_rcp(Form& form) {
  const bool approximate = form.take("approx");
  const Style style = take_style(form);
  const Type type = form.type();
  take_operands(form, type, 1);
  if (type == Type::f64) {
    if (approximate) return form.emit(elementwise<DoubleApprox<rcp_approx_f64>>(form.simd()), OpClass::special);
    check_double_style(form, style);
    return form.emit(rounded<Double<Reciprocal, double>>(form.simd(), style.rounding), OpClass::double_fma, 8);
  }
  if (approximate) return form.emit(Approximation<row::rcp_approx>::choose(style.flush), OpClass::special);
  form.emit(choose_single<Reciprocal, float>(form, style), OpClass::float_fma, 6);
}

void decode_sqrt(Form& form) {
  const bool approximate = form.take("approx");
  const Style style = take_style(form);
  const Type type = form.type();
  take_operands(form, type, 1);
  if (type == Type::f64) {
    check_double_style(form, style);
    return form.emit(rounded<Double<SquareRoot, double>>(form.simd(), style.rounding), OpClass::double_fma, 10);
  }
  if (approximate) return form.emit(Approximation<row::sqrt_approx>::choose(style.flush), OpClass::special);
  form.emit(choose_single<SquareRoot, float>(form, style), OpClass::float_fma, 8);
}

void decode_rsqrt(Form& form) {
  form.take("approx");
  const bool flush = form.take("ftz");
  const Type type = form.type();
  take_operands(form, type, 1);
  if (type == Type::f64 && !flush) return form.emit(elementwise<DoubleRoot>(form.simd()), OpClass::special, 8);
  if (type == Type::f64) return form.emit(elementwise<DoubleApprox<rsqrt_approx_f64>>(form.simd()), OpClass::special);
  form.emit(Approximation<row::rsqrt_approx>::choose(flush), OpClass::special);
}

template <void (*kFunction)(std::uint32_t*, const std::uint32_t*, Subnormals)>
void decode_approximate(Form& form) {
  if (!form.take("approx")) form.unsupported("only .approx");
  const bool flush = form.take("ftz");
  if (form.type() != Type::f32) form.unsupported("only .f32");
  take_operands(form, Type::f32, 1);
  form.emit(Approximation<kFunction>::choose(flush), OpClass::special);
}

void decode_tanh(Form& form) {
  if (!form.take("approx") || form.type() != Type::f32) form.unsupported("only .approx.f32");
  take_operands(form, Type::f32, 1);
  form.emit(RowFunction<row::tanh_approx, 1>::execute, OpClass::special);
}

// ---- Signs, minimum and maximum

template <class T, bool kFlush>
struct Abs {
  static EVO_INLINE T apply(T a) {
    if constexpr (kFlush) a = flushed<true>(a);
    return a == a ? with_bits<T>(bits_in(a) & ~kSignBit<T>) : quiet(a);
  }
};
template <class T, bool kFlush>
struct Neg {
  static EVO_INLINE T apply(T a) {
    if constexpr (kFlush) a = flushed<true>(a);
    return a == a ? with_bits<T>(bits_in(a) ^ kSignBit<T>) : quiet(a);
  }
};

template <template <class, bool> class Op>
void decode_sign(Form& form) {
  const bool flush = form.take("ftz");
  const Type type = form.type();
  take_operands(form, type, 1);
  if (type == Type::f64) return form.emit(elementwise<Op<double, false>>(form.simd()), OpClass::integer);
  form.emit(flush ? elementwise<Op<float, true>>(form.simd()) : elementwise<Op<float, false>>(form.simd()),
            OpClass::float_compare);
}

template <bool kMax, bool kFlush, bool kNan, bool kXorSign>
struct SingleExtreme {
  static EVO_INLINE float apply(float a, float b) {
    a = flushed<kFlush>(a);
    b = flushed<kFlush>(b);
    float x = a, y = b;
    if constexpr (kXorSign) {
      x = with_bits<float>(bits_in(a) & ~kSignBit<float>);
      y = with_bits<float>(bits_in(b) & ~kSignBit<float>);
    }
    float result = smaller_or_larger<float, kMax>(x, y);
    if constexpr (kNan) result = (a == a) && (b == b) ? result : with_bits<float>(kNanF32);
    if constexpr (kXorSign)
      if (result == result) result = with_bits<float>(bits_in(result) | ((bits_in(a) ^ bits_in(b)) & kSignBit<float>));
    return result;
  }
};
template <bool kMax>
struct DoubleExtreme {
  static EVO_INLINE double apply(double a, double b) {
    return a != a && b != b ? quiet(b) : smaller_or_larger<double, kMax>(a, b);
  }
};

template <bool kMax>
void decode_extreme(Form& form) {
  const ExtremeModifiers modifiers = take_extreme_modifiers(form);
  const Type type = form.type();
  const auto choose = [&](auto flush, auto nan, auto xor_sign) {
    return elementwise<SingleExtreme<kMax, flush, nan, xor_sign>>(form.simd());
  };
  const Execute single = with_flags(choose, modifiers.flush, modifiers.nan, modifiers.xor_sign);
  if (form.operand_count() == 4) {  // Of three: of the first two, then with the third.
    if (type != Type::f32 || modifiers.xor_sign) form.unsupported("three sources");
    const std::uint32_t of_two = form.new_temporary(type);
    form.temporary_destination(of_two);
    for (const std::size_t i : {1, 2}) form.source(i, type);
    form.emit(single, OpClass::float_compare);
    form.begin_another();
    form.destination(0, type);
    form.temporary_source(of_two);
    form.source(3, type);
    return form.emit(single, OpClass::nothing);
  }
  take_operands(form, type, 2);
  if (type == Type::f64) return form.emit(elementwise<DoubleExtreme<kMax>>(form.simd()), OpClass::double_fma, 2);
  form.emit(single, OpClass::float_compare);
}

/// The sign of a with the magnitude of b.
template <class T>
struct CopySign {
  static EVO_INLINE T apply(T a, T b) { return with_bits<T>((bits_in(a) & kSignBit<T>) | (bits_in(b) & ~kSignBit<T>)); }
};

void decode_copysign(Form& form) {
  const Type type = form.type();
  take_operands(form, type, 2);
  form.emit(type == Type::f64 ? elementwise<CopySign<double>>(form.simd()) : elementwise<CopySign<float>>(form.simd()),
            OpClass::integer, words_of(type));
}

// ---- testp

enum class Class { finite, infinite, number, notanumber, normal, subnormal };

template <class T, Class kClass>
struct Test {
  static EVO_INLINE bool apply(T x) {
    const BitsOf<T> size = bits_in(x) & ~kSignBit<T>;
    const BitsOf<T> infinity = bits_in(std::numeric_limits<T>::infinity());
    const BitsOf<T> least_normal = bits_in(std::numeric_limits<T>::min());
    switch (kClass) {
      case Class::finite:
        return size < infinity;
      case Class::infinite:
        return size == infinity;
      case Class::number:
        return size <= infinity;
      case Class::notanumber:
        return size > infinity;
      case Class::normal:
        return (size >= least_normal || size == 0) && size < infinity;  // Zero counts.
      case Class::subnormal:
        return size != 0 && size < least_normal;
    }
    return false;
  }
};
template <class Op>
struct TestBody {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    put_predicate(warp, in.op[0], lanes_where<Op>(warp, in, 1), mask);
  }
};

void decode_testp(Form& form) {
  const Class wanted = take_enumerator<Class>(form).value_or(Class::finite);
  const Type type = form.type();
  form.predicate_destination(form.operand(0));
  form.source(1, type);
  const auto choose = [&](auto kind) {
    return type == Type::f64 ? Compiled<TestBody<Test<double, kind>>>::choose(form.simd())
                             : Compiled<TestBody<Test<float, kind>>>::choose(form.simd());
  };
  form.emit(with_enumerator(wanted, choose), OpClass::float_compare);
}

}  // namespace

std::span<const Operation> float_operations() {
  static constexpr Operation kOperations[] = {
      {"add", Operands::singles, decode_two<Add>},
      {"sub", Operands::singles, decode_two<Sub>},
      {"mul", Operands::singles, decode_two<Mul>},
      {"fma", Operands::singles, decode_fma},
      {"mad", Operands::singles, decode_fma},
      {"div", Operands::singles, decode_div},
      {"rcp", Operands::singles, decode_rcp},
      {"sqrt", Operands::singles, decode_sqrt},
      {"rsqrt", Operands::singles, decode_rsqrt},
      {"sin", Operands::singles, decode_approximate<row::sin_approx>},
      {"cos", Operands::singles, decode_approximate<row::cos_approx>},
      {"lg2", Operands::singles, decode_approximate<row::lg2_approx>},
      {"ex2", Operands::singles, decode_approximate<row::ex2_approx>},
      {"tanh", Operands::singles, decode_tanh},
      {"abs", Operands::singles, decode_sign<Abs>},
      {"neg", Operands::singles, decode_sign<Neg>},
      {"min", Operands::singles, decode_extreme<false>},
      {"max", Operands::singles, decode_extreme<true>},
      {"copysign", Operands::singles, decode_copysign},
      {"testp", Operands::singles, decode_testp},
  };
  return kOperations;
}

}  // namespace evo::vgpu
