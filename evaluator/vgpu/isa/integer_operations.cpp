#include <limits>
#include <type_traits>

#include "evaluator/vgpu/isa/operations.h"

// PTX ISA 9.0, 9.7.1 "Integer Arithmetic Instructions".
namespace evo::vgpu {
namespace {

using ptx::Type;

template <class T>
using Unsigned = std::make_unsigned_t<T>;
/// Wide enough that arithmetic of narrow types does not overflow int.
template <class T>
using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, Unsigned<T>>;
/// Twice as wide as T, of the same signedness.
template <class T>
using Double = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, Int128, UInt128>>>;

template <class T>
struct Add {
  static EVO_INLINE T apply(T a, T b) { return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b)); }
};
template <class T>
struct Sub {
  static EVO_INLINE T apply(T a, T b) { return static_cast<T>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b)); }
};
EVO_INLINE std::int32_t clamp_to_s32(std::int64_t value) {
  const std::int64_t low = std::numeric_limits<std::int32_t>::min();
  const std::int64_t high = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(value < low ? low : (value > high ? high : value));
}
struct AddSaturating {
  static EVO_INLINE std::int32_t apply(std::int32_t a, std::int32_t b) { return clamp_to_s32(std::int64_t{a} + b); }
};
struct SubSaturating {
  static EVO_INLINE std::int32_t apply(std::int32_t a, std::int32_t b) { return clamp_to_s32(std::int64_t{a} - b); }
};

template <class T>
EVO_INLINE T low_product(T a, T b) {
  return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
}
template <class T>
EVO_INLINE T high_product(T a, T b) {
  return static_cast<T>(static_cast<Double<T>>(a) * static_cast<Double<T>>(b) >> (8 * sizeof(T)));
}
template <class T>
struct MulLow {
  static EVO_INLINE T apply(T a, T b) { return low_product(a, b); }
};
template <class T>
struct MulHigh {
  static EVO_INLINE T apply(T a, T b) { return high_product(a, b); }
};
template <class T>
struct MulWide {
  static EVO_INLINE Double<T> apply(T a, T b) { return static_cast<Double<T>>(a) * static_cast<Double<T>>(b); }
};
template <class T>
struct MadLow {
  static EVO_INLINE T apply(T a, T b, T c) { return Add<T>::apply(low_product(a, b), c); }
};
template <class T>
struct MadHigh {
  static EVO_INLINE T apply(T a, T b, T c) { return Add<T>::apply(high_product(a, b), c); }
};
struct MadHighSaturating {
  static EVO_INLINE std::int32_t apply(std::int32_t a, std::int32_t b, std::int32_t c) {
    return clamp_to_s32(std::int64_t{high_product(a, b)} + c);
  }
};
template <class T>
struct MadWide {
  static EVO_INLINE Double<T> apply(T a, T b, Double<T> c) {
    using U = Unsigned<Double<T>>;
    return static_cast<Double<T>>(static_cast<U>(static_cast<Double<T>>(a) * static_cast<Double<T>>(b)) +
                                  static_cast<U>(c));
  }
};

/// The low 24 bits, extended.
template <class T>
EVO_INLINE T low_24(T a) {
  return static_cast<T>(static_cast<T>(static_cast<std::uint32_t>(a) << 8) >> 8);
}
template <class T>
struct Mul24Low {
  static EVO_INLINE T apply(T a, T b) { return low_product(low_24(a), low_24(b)); }
};
template <class T>
struct Mul24High {
  static EVO_INLINE T apply(T a, T b) {
    return static_cast<T>(static_cast<Double<T>>(low_24(a)) * static_cast<Double<T>>(low_24(b)) >> 16);
  }
};
template <class T>
struct Mad24Low {
  static EVO_INLINE T apply(T a, T b, T c) { return Add<T>::apply(Mul24Low<T>::apply(a, b), c); }
};
template <class T>
struct Mad24High {
  static EVO_INLINE T apply(T a, T b, T c) { return Add<T>::apply(Mul24High<T>::apply(a, b), c); }
};

struct Mad24HighSaturating {
  static EVO_INLINE std::int32_t apply(std::int32_t a, std::int32_t b, std::int32_t c) {
    return clamp_to_s32(std::int64_t{Mul24High<std::int32_t>::apply(a, b)} + c);
  }
};

// Division by zero gives all ones, and so does its remainder, as the hardware's routines do.
template <class T>
struct Div {
  static EVO_INLINE T apply(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return Sub<T>::apply(0, a);
    }
    return static_cast<T>(a / b);
  }
};
template <class T>
struct Rem {
  static EVO_INLINE T apply(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};
template <class T>
struct Sad {
  static EVO_INLINE T apply(T a, T b, T c) {
    return Add<T>::apply(c, a < b ? Sub<T>::apply(b, a) : Sub<T>::apply(a, b));
  }
};
template <class T>
struct Abs {
  static EVO_INLINE T apply(T a) { return a < 0 ? Sub<T>::apply(0, a) : a; }
};
template <class T>
struct Neg {
  static EVO_INLINE T apply(T a) { return Sub<T>::apply(0, a); }
};
template <class T>
struct Min {
  static EVO_INLINE T apply(T a, T b) { return a < b ? a : b; }
};
template <class T>
struct Max {
  static EVO_INLINE T apply(T a, T b) { return a > b ? a : b; }
};
template <template <class> class Op>
struct Relu {
  static EVO_INLINE std::int32_t apply(std::int32_t a, std::int32_t b) {
    const std::int32_t value = Op<std::int32_t>::apply(a, b);
    return value < 0 ? 0 : value;
  }
};

/// Two 16-bit values in a word.
template <template <class> class Op, class T, bool kRelu = false>
struct Packed {
  static EVO_INLINE std::uint16_t half(std::uint32_t a, std::uint32_t b) {
    const T value = Op<T>::apply(static_cast<T>(a), static_cast<T>(b));
    return static_cast<std::uint16_t>(kRelu && value < T{0} ? T{0} : value);
  }
  static EVO_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b) {
    return half(a, b) | static_cast<std::uint32_t>(half(a >> 16, b >> 16)) << 16;
  }
};

template <bool kSigned>
using Byte = std::conditional_t<kSigned, std::int8_t, std::uint8_t>;

template <class A, class B>
struct Dp4a {
  static EVO_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    for (int i = 0; i < 4; ++i) {
      c += static_cast<std::uint32_t>(std::int32_t{static_cast<A>(a >> 8 * i)} *
                                      std::int32_t{static_cast<B>(b >> 8 * i)});
    }
    return c;
  }
};
template <class A, class B, int kFirstByte>
struct Dp2a {
  static EVO_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    using Half = std::conditional_t<std::is_signed_v<A>, std::int16_t, std::uint16_t>;
    for (int i = 0; i < 2; ++i) {
      const std::int64_t product =
          std::int64_t{static_cast<Half>(a >> 16 * i)} * std::int64_t{static_cast<B>(b >> 8 * (i + kFirstByte))};
      c += static_cast<std::uint32_t>(product);
    }
    return c;
  }
};

// ---- Decoding

template <template <class> class Op>
Execute choose_packed(Form& form, Type type, bool relu) {
  if (relu) return elementwise<Packed<Op, std::int16_t, true>>(form.simd());
  return type == Type::s16x2 ? elementwise<Packed<Op, std::int16_t>>(form.simd())
                             : elementwise<Packed<Op, std::uint16_t>>(form.simd());
}

bool is_packed(Type type) {
  return type == Type::u16x2 || type == Type::s16x2;
}

void decode_add(Form& form) {
  if (form.take("cc")) return decode_add_with_carry(form, false, true);
  const bool saturating = form.take("sat");
  const Type type = form.type();
  take_operands(form, type, 2);
  if (is_packed(type)) return form.emit(choose_packed<Add>(form, type, false), OpClass::integer);
  if (saturating && type != Type::s32) form.unsupported(".sat is for .s32");
  form.emit(saturating ? elementwise<AddSaturating>(form.simd()) : choose_bits<Add>(form, type), OpClass::integer,
            words_of(type));
}

void decode_sub(Form& form) {
  if (form.take("cc")) return decode_sub_with_borrow(form, false, true);
  const bool saturating = form.take("sat");
  const Type type = form.type();
  take_operands(form, type, 2);
  if (saturating && type != Type::s32) form.unsupported(".sat is for .s32");
  form.emit(saturating ? elementwise<SubSaturating>(form.simd()) : choose_bits<Sub>(form, type), OpClass::integer,
            words_of(type));
}

Type doubled(const Form& form, Type type) {
  switch (type) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    case Type::s32:
      return Type::s64;
    default:
      form.unsupported(".wide of a type that cannot be doubled");
  }
}

template <template <class> class Op>
Execute choose_doubling(Form& form, Type type) {
  if (ptx::bits_of(type) == 16)
    return ptx::is_signed(type) ? elementwise<Op<std::int16_t>>(form.simd())
                                : elementwise<Op<std::uint16_t>>(form.simd());
  return ptx::is_signed(type) ? elementwise<Op<std::int32_t>>(form.simd())
                              : elementwise<Op<std::uint32_t>>(form.simd());
}

/// 64-bit products take several 32-bit multiplications.
int multiplications(Type type) {
  return ptx::bits_of(type) == 64 ? 4 : 1;
}

void decode_mul(Form& form) {
  const std::string_view part = form.take_one_of({"lo", "hi", "wide"});
  const Type type = form.type();
  if (part == "wide") {
    form.destination(0, doubled(form, type));
    form.source(1, type);
    form.source(2, type);
    return form.emit(choose_doubling<MulWide>(form, type), OpClass::integer_multiply);
  }
  if (part.empty()) form.unsupported("one of .lo, .hi, .wide is needed");
  take_operands(form, type, 2);
  form.emit(part == "hi" ? choose_integer<MulHigh>(form, type) : choose_bits<MulLow>(form, type),
            OpClass::integer_multiply, multiplications(type));
}

void decode_mad(Form& form) {
  const std::string_view part = form.take_one_of({"lo", "hi", "wide"});
  if (form.take("cc")) return decode_mad_with_carry(form, part, false, true);
  const bool saturating = form.take("sat");
  const Type type = form.type();
  if (part == "wide") {
    const Type wide = doubled(form, type);
    form.destination(0, wide);
    form.source(1, type);
    form.source(2, type);
    form.source(3, wide);
    return form.emit(choose_doubling<MadWide>(form, type), OpClass::integer_multiply);
  }
  if (part.empty()) form.unsupported("one of .lo, .hi, .wide is needed");
  take_operands(form, type, 3);
  if (saturating) {
    if (part != "hi" || type != Type::s32) form.unsupported(".sat is for .hi.s32");
    return form.emit(elementwise<MadHighSaturating>(form.simd()), OpClass::integer_multiply);
  }
  form.emit(part == "hi" ? choose_integer<MadHigh>(form, type) : choose_bits<MadLow>(form, type),
            OpClass::integer_multiply, multiplications(type));
}

template <template <class> class Op>
Execute choose_24(Form& form, Type type) {
  if (type == Type::u32) return elementwise<Op<std::uint32_t>>(form.simd());
  if (type == Type::s32) return elementwise<Op<std::int32_t>>(form.simd());
  form.unsupported("only .u32 and .s32");
}

void decode_mul24(Form& form) {
  const bool high = form.take_one_of({"lo", "hi"}) == "hi";
  const Type type = form.type();
  take_operands(form, type, 2);
  form.emit(high ? choose_24<Mul24High>(form, type) : choose_24<Mul24Low>(form, type), OpClass::integer_multiply, 2);
}

void decode_mad24(Form& form) {
  const bool high = form.take_one_of({"lo", "hi"}) == "hi";
  const bool saturating = form.take("sat");
  const Type type = form.type();
  take_operands(form, type, 3);
  if (saturating) {
    if (!high || type != Type::s32) form.unsupported(".sat is for .hi.s32");
    return form.emit(elementwise<Mad24HighSaturating>(form.simd()), OpClass::integer_multiply, 2);
  }
  form.emit(high ? choose_24<Mad24High>(form, type) : choose_24<Mad24Low>(form, type), OpClass::integer_multiply, 2);
}

/// Division is a routine of the compiler, about that many instructions.
int division_steps(Type type) {
  return ptx::bits_of(type) == 64 ? 70 : 18;
}

template <template <class> class Op>
void decode_division(Form& form) {
  const Type type = form.type();
  take_operands(form, type, 2);
  form.emit(choose_integer<Op>(form, type), OpClass::integer, division_steps(type));
}

void decode_sad(Form& form) {
  const Type type = form.type();
  take_operands(form, type, 3);
  form.emit(choose_integer<Sad>(form, type), OpClass::integer, 2 * words_of(type));
}

template <template <class> class Op>
void decode_signed_unary(Form& form) {
  const Type type = form.type();
  take_operands(form, type, 1);
  if (!ptx::is_signed(type)) form.unsupported("a signed type is needed");
  form.emit(choose_integer<Op>(form, type), OpClass::integer, words_of(type));
}

template <template <class> class Op>
void decode_min_max(Form& form) {
  const bool relu = form.take("relu");
  const Type type = form.type();
  take_operands(form, type, 2);
  if (relu && type != Type::s32 && type != Type::s16x2) form.unsupported(".relu is for .s32 and .s16x2");
  if (is_packed(type)) return form.emit(choose_packed<Op>(form, type, relu), OpClass::integer);
  form.emit(relu ? elementwise<Relu<Op>>(form.simd()) : choose_integer<Op>(form, type), OpClass::integer,
            words_of(type));
}

void decode_dp4a(Form& form) {
  const bool a_signed = ptx::is_signed(form.type());
  const bool b_signed = ptx::is_signed(form.type());
  take_operands(form, Type::b32, 3);
  const auto choose = [&](auto a, auto b) { return elementwise<Dp4a<Byte<a>, Byte<b>>>(form.simd()); };
  form.emit(with_flags(choose, a_signed, b_signed), OpClass::integer_multiply);
}

void decode_dp2a(Form& form) {
  const bool high = form.take_one_of({"lo", "hi"}) == "hi";
  const bool a_signed = ptx::is_signed(form.type());
  const bool b_signed = ptx::is_signed(form.type());
  take_operands(form, Type::b32, 3);
  const auto choose = [&](auto a, auto b, auto upper) {
    return elementwise<Dp2a<Byte<a>, Byte<b>, upper ? 2 : 0>>(form.simd());
  };
  form.emit(with_flags(choose, a_signed, b_signed, high), OpClass::integer_multiply);
}

}  // namespace

std::span<const Operation> integer_operations() {
  static constexpr Operation kOperations[] = {
      {"add", Operands::integers, decode_add},
      {"sub", Operands::integers, decode_sub},
      {"mul", Operands::integers, decode_mul},
      {"mad", Operands::integers, decode_mad},
      {"mul24", Operands::integers, decode_mul24},
      {"mad24", Operands::integers, decode_mad24},
      {"div", Operands::integers, decode_division<Div>},
      {"rem", Operands::integers, decode_division<Rem>},
      {"sad", Operands::integers, decode_sad},
      {"abs", Operands::integers, decode_signed_unary<Abs>},
      {"neg", Operands::integers, decode_signed_unary<Neg>},
      {"min", Operands::integers, decode_min_max<Min>},
      {"max", Operands::integers, decode_min_max<Max>},
      {"dp4a", Operands::integers, decode_dp4a},
      {"dp2a", Operands::integers, decode_dp2a},
  };
  return kOperations;
}

}  // namespace evo::vgpu
