#include <bit>
#include <limits>
#include <type_traits>

#include "evaluator/vgpu/isa/operations.h"

// PTX ISA 9.0, 9.7.8 "Logic and Shift Instructions" and the bit instructions of 9.7.1.
namespace evo::vgpu {
namespace {

using ptx::Type;

template <class T>
struct And {
  static EVO_INLINE T apply(T a, T b) { return static_cast<T>(a & b); }
};
template <class T>
struct Or {
  static EVO_INLINE T apply(T a, T b) { return static_cast<T>(a | b); }
};
template <class T>
struct Xor {
  static EVO_INLINE T apply(T a, T b) { return static_cast<T>(a ^ b); }
};
template <class T>
struct Not {
  static EVO_INLINE T apply(T a) { return static_cast<T>(~a); }
};
template <class T>
struct LogicalNot {
  static EVO_INLINE T apply(T a) { return a == 0 ? 1 : 0; }
};

// Shift amounts beyond the width clamp: zeros, or copies of the sign.
template <class T>
struct ShiftLeft {
  static EVO_INLINE T apply(T a, std::uint32_t by) {
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, T>;
    return by >= kBits ? T{0} : static_cast<T>(static_cast<Wide>(a) << (by & (kBits - 1)));
  }
};
template <class T>
struct ShiftRight {
  static EVO_INLINE T apply(T a, std::uint32_t by) {
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(a >> (by >= kBits ? kBits - 1 : by));
    } else {
      return by >= kBits ? T{0} : static_cast<T>(a >> (by & (kBits - 1)));
    }
  }
};

EVO_INLINE std::uint32_t clamp_or_wrap(std::uint32_t by, bool wrap) {
  return wrap ? by & 31u : (by > 32 ? 32 : by);
}
template <bool kWrap>
struct FunnelLeft {
  static EVO_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t by) {
    const std::uint64_t both = static_cast<std::uint64_t>(b) << 32 | a;
    return static_cast<std::uint32_t>(both << clamp_or_wrap(by, kWrap) >> 32);
  }
};
template <bool kWrap>
struct FunnelRight {
  static EVO_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t by) {
    const std::uint64_t both = static_cast<std::uint64_t>(b) << 32 | a;
    return static_cast<std::uint32_t>(both >> clamp_or_wrap(by, kWrap));
  }
};

/// lop3: the immediate's bit abc is the result for those three bits.
struct Lop3 {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    const Word* a = warp.row(in.op[1]);
    const Word* b = warp.row(in.op[2]);
    const Word* c = warp.row(in.op[3]);
    const auto table = static_cast<std::uint32_t>(in.immediate);
    const auto when = [&](int row) { return 0u - (table >> row & 1u); };
    const Word t0 = when(0), t1 = when(1), t2 = when(2), t3 = when(3), t4 = when(4), t5 = when(5), t6 = when(6),
               t7 = when(7);
    alignas(64) Word result[32];
    EVO_LANE_LOOP
    for (int lane = 0; lane < 32; ++lane) {
      const Word x = a[lane], y = b[lane], z = c[lane];
      const Word high = (y & ((z & t7) | (~z & t6))) | (~y & ((z & t5) | (~z & t4)));
      const Word low = (y & ((z & t3) | (~z & t2))) | (~y & ((z & t1) | (~z & t0)));
      result[lane] = (x & high) | (~x & low);
    }
    blend(warp.own(in.op[0]), result, mask);
  }
};

/// The bytes of {b, a} that the selector's nibbles name; a nibble's top bit repeats the byte's sign instead.
struct Permute {
  static EVO_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
    const std::uint64_t both = static_cast<std::uint64_t>(b) << 32 | a;
    std::uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t nibble = selector >> 4 * i & 15u;
      const auto byte = static_cast<std::uint32_t>(both >> 8 * (nibble & 7u)) & 255u;
      const std::uint32_t sign = 0u - (byte >> 7 & 1u);
      result |= ((nibble & 8u) != 0 ? sign & 255u : byte) << 8 * i;
    }
    return result;
  }
};
enum class PermuteMode { f4e, b4e, rc8, ecl, ecr, rc16 };
template <PermuteMode kMode>
struct PermuteAs {
  static EVO_INLINE std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::uint32_t n = c & 3u;
    std::uint32_t selector = 0;
    for (std::uint32_t i = 0; i < 4; ++i) {
      std::uint32_t byte = n;  // rc8.
      if (kMode == PermuteMode::f4e) byte = n + i;
      if (kMode == PermuteMode::b4e) byte = (n - i) & 7u;
      if (kMode == PermuteMode::ecl) byte = i > n ? i : n;
      if (kMode == PermuteMode::ecr) byte = i < n ? i : n;
      if (kMode == PermuteMode::rc16) byte = (n & 1u) * 2 + (i & 1u);
      selector |= byte << 4 * i;
    }
    return Permute::apply(a, b, selector);
  }
};

/// Position and length of a field: the hardware looks at 8 bits of them, its routines for 64 bits at all.
template <class T>
EVO_INLINE void limit_field(std::uint32_t& at, std::uint32_t& length) {
  if constexpr (sizeof(T) == 8) {
    at = at < 255u ? at : 255u;
    length = length < 255u ? length : 255u;
  } else {
    at &= 255u;
    length &= 255u;
  }
}

template <class T>
struct ExtractField {
  static EVO_INLINE T apply(T a, std::uint32_t at, std::uint32_t length) {
    using U = std::make_unsigned_t<T>;
    constexpr std::uint32_t kTop = 8 * sizeof(T) - 1;
    limit_field<T>(at, length);
    const auto bits = static_cast<U>(a);
    U sign = 0;
    if constexpr (std::is_signed_v<T>) {
      const std::uint32_t last = at + length - 1 > kTop ? kTop : at + length - 1;
      sign = length == 0 ? 0 : bits >> last & 1u;
    }
    const U shifted = at > kTop ? 0 : bits >> (at & kTop);
    const std::uint32_t taken = at > kTop ? 0 : (length < kTop + 1 - at ? length : kTop + 1 - at);
    const U keep = taken > kTop ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << (taken & kTop)) - 1);
    return static_cast<T>((shifted & keep) | (sign != 0 ? static_cast<U>(~keep) : U{0}));
  }
};
template <class T>
struct InsertField {
  static EVO_INLINE T apply(T field, T into, std::uint32_t at, std::uint32_t length) {
    constexpr std::uint32_t kTop = 8 * sizeof(T) - 1;
    limit_field<T>(at, length);
    if (at > kTop || length == 0) return into;
    const T low = length > kTop ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << (length & kTop)) - 1);
    const T keep = static_cast<T>(low << at);
    return static_cast<T>((into & ~keep) | ((field << at) & keep));
  }
};

template <class T, bool kShiftAmount>
struct FindLeading {
  static EVO_INLINE std::uint32_t apply(T a) {
    using U = std::make_unsigned_t<T>;
    constexpr std::uint32_t kTop = 8 * sizeof(T) - 1;
    const U bits = a < 0 ? static_cast<U>(~static_cast<U>(a)) : static_cast<U>(a);
    if (bits == 0) return kAllLanes;
    const auto leading = static_cast<std::uint32_t>(std::countl_zero(bits));
    return kShiftAmount ? leading : kTop - leading;
  }
};
template <class T>
using FindBit = FindLeading<T, false>;
template <class T>
using FindShift = FindLeading<T, true>;

template <class T>
struct Reverse {
  static EVO_INLINE T apply(T a) {
    T result = 0;
    for (std::size_t i = 0; i < 8 * sizeof(T); ++i) result |= static_cast<T>((a >> i & 1u) << (8 * sizeof(T) - 1 - i));
    return result;
  }
};
template <class T>
struct CountLeadingZeros {
  static EVO_INLINE std::uint32_t apply(T a) { return static_cast<std::uint32_t>(std::countl_zero(a)); }
};
template <class T>
struct CountOnes {
  static EVO_INLINE std::uint32_t apply(T a) { return static_cast<std::uint32_t>(std::popcount(a)); }
};

template <bool kWrap>
struct BitMask {
  static EVO_INLINE std::uint32_t apply(std::uint32_t at, std::uint32_t length) {
    if (kWrap) {
      at &= 31u;
      length &= 31u;
    }
    if (at > 31 || length == 0) return 0;
    const std::uint32_t low = length > 31 ? kAllLanes : (1u << length) - 1;
    return low << at;
  }
};
template <class T, bool kWrap>
struct SignOrZeroExtend {
  static EVO_INLINE T apply(T a, std::uint32_t bits) {
    if (kWrap) bits &= 31u;
    if (bits > 31) return a;
    if (bits == 0) return 0;
    return static_cast<T>(static_cast<T>(static_cast<std::uint32_t>(a) << (32 - bits)) >> (32 - bits));
  }
};

/// fns: the position of the nth set bit from a base, upwards or downwards.
struct FindNthSet {
  static EVO_INLINE std::uint32_t apply(std::uint32_t mask, std::uint32_t base, std::int32_t n) {
    // fns is a routine that ptxas adds; for the one offset that has no magnitude it answers zero.
    if (n == std::numeric_limits<std::int32_t>::min()) return 0;
    if (base > 31) return kAllLanes;
    if (n == 0) return (mask >> base & 1u) != 0 ? base : kAllLanes;
    std::int32_t left = n > 0 ? n : -n;
    for (auto at = static_cast<std::int32_t>(base); at >= 0 && at<32; at += n> 0 ? 1 : -1) {
      if ((mask >> at & 1u) != 0 && --left == 0) return static_cast<std::uint32_t>(at);
    }
    return kAllLanes;
  }
};

// ---- Decoding

template <class Op>
struct PredicateOp {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    put_predicate(warp, in.op[0], Op::apply(get_predicate(warp, in.op[1]), get_predicate(warp, in.op[2])), mask);
  }
};
struct PredicateNot {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    put_predicate(warp, in.op[0], ~get_predicate(warp, in.op[1]), mask);
  }
};

template <template <class> class Op>
void decode_logic(Form& form) {
  const Type type = form.type();
  if (type == Type::pred) {
    form.predicate_destination(form.operand(0));
    form.predicate_source(form.operand(1));
    form.predicate_source(form.operand(2));
    return form.emit(Compiled<PredicateOp<Op<std::uint32_t>>>::choose(form.simd()), OpClass::integer);
  }
  take_operands(form, type, 2);
  form.emit(choose_bits<Op>(form, type), OpClass::integer, words_of(type));
}

void decode_not(Form& form) {
  const Type type = form.type();
  if (type == Type::pred) {
    form.predicate_destination(form.operand(0));
    form.predicate_source(form.operand(1));
    return form.emit(Compiled<PredicateNot>::choose(form.simd()), OpClass::integer);
  }
  take_operands(form, type, 1);
  form.emit(choose_bits<Not>(form, type), OpClass::integer, words_of(type));
}

void decode_cnot(Form& form) {
  const Type type = form.type();
  take_operands(form, type, 1);
  form.emit(choose_bits<LogicalNot>(form, type), OpClass::integer, words_of(type));
}

/// The distance has 32 bits whatever the type.
template <auto kChoose>
void decode_shift(Form& form) {
  const Type type = form.type();
  form.destination(0, type);
  form.source(1, type);
  form.source(2, Type::u32);
  form.emit(kChoose(form, type), OpClass::integer, words_of(type));
}

void decode_shf(Form& form) {
  const bool left = form.take("l");
  if (!left && !form.take("r")) form.unsupported("one of .l, .r is needed");
  const bool wrap = form.take_one_of({"wrap", "clamp"}) == "wrap";
  form.type();
  take_operands(form, Type::b32, 3);
  const auto choose = [&](auto wraps) {
    return left ? elementwise<FunnelLeft<wraps>>(form.simd()) : elementwise<FunnelRight<wraps>>(form.simd());
  };
  form.emit(with_flags(choose, wrap), OpClass::integer);
}

/// op: result, the predicate to set, the one to combine it with. immediate: whether by .and, else .or.
void test_result(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const Word* result = warp.row(in.op[0]);
  const std::uint32_t some = ~lanes_with(result, 0u);
  const std::uint32_t other = get_predicate(warp, in.op[2]);
  put_predicate(warp, in.op[1], in.immediate != 0 ? some & other : some | other, mask);
}

void decode_lop3(Form& form) {
  const std::string_view combined = form.take_one_of({"or", "and"});
  if (form.type() != Type::b32) form.unsupported("only .b32");
  const bool sink = form.operand(0).kind == ptx::Operand::Kind::sink;
  const std::uint32_t unnamed = sink ? form.new_temporary(Type::b32) : 0;
  sink ? form.temporary_destination(unnamed) : form.destination(0, Type::b32);
  for (std::size_t i = 1; i <= 3; ++i) form.source(i, Type::b32);
  const ptx::Operand& table = form.operand(4);
  if (table.kind != ptx::Operand::Kind::integer) form.unsupported("the table must be a number");
  form.instruction().immediate = static_cast<std::int64_t>(table.bits & 255u);
  form.emit(Compiled<Lop3>::choose(form.simd()), OpClass::integer);
  if (combined.empty()) return;
  form.begin_another();
  sink ? form.temporary_source(unnamed) : form.source(0, Type::b32);
  form.predicate_destination_of_pair(form.operand(0));
  form.predicate_source(form.operand(5));
  form.instruction().immediate = combined == "and" ? 1 : 0;
  form.emit(test_result, OpClass::nothing);
}

void decode_prmt(Form& form) {
  form.take("b32");
  const std::optional<PermuteMode> mode = take_enumerator<PermuteMode>(form);
  take_operands(form, Type::b32, 3);
  const auto choose = [&](auto constant) { return elementwise<PermuteAs<constant>>(form.simd()); };
  form.emit(mode ? with_enumerator(*mode, choose) : elementwise<Permute>(form.simd()), OpClass::integer);
}

/// The operands of bfe (one value) and bfi (two): destination, values, position and length of the field.
Type take_field_operands(Form& form, std::size_t values) {
  const Type type = form.type();
  take_operands(form, type, values);
  form.source(values + 1, Type::u32);
  form.source(values + 2, Type::u32);
  if (ptx::bits_of(type) < 32) form.unsupported("only 32 and 64 bits");
  return type;
}

void decode_bfe(Form& form) {
  const Type type = take_field_operands(form, 1);
  form.emit(choose_integer<ExtractField>(form, type), OpClass::integer, 2 * words_of(type));
}

void decode_bfi(Form& form) {
  const Type type = take_field_operands(form, 2);
  form.emit(choose_bits<InsertField>(form, type), OpClass::integer, 2 * words_of(type));
}

void decode_bfind(Form& form) {
  const bool shift_amount = form.take("shiftamt");
  const Type type = form.type();
  form.destination(0, Type::u32);
  form.source(1, type);
  if (ptx::bits_of(type) < 32) form.unsupported("only 32 and 64 bits");
  form.emit(shift_amount ? choose_integer<FindShift>(form, type) : choose_integer<FindBit>(form, type),
            OpClass::bit_search, words_of(type));
}

void decode_brev(Form& form) {
  const Type type = form.type();
  take_operands(form, type, 1);
  form.emit(choose_bits<Reverse>(form, type), OpClass::bit_search, words_of(type));
}

template <template <class> class Op>
void decode_count(Form& form) {
  const Type type = form.type();
  form.destination(0, Type::u32);
  form.source(1, type);
  form.emit(choose_bits<Op>(form, type), OpClass::bit_search, words_of(type));
}

void decode_bmsk(Form& form) {
  const bool wrap = form.take_one_of({"wrap", "clamp"}) == "wrap";
  form.type();
  take_operands(form, Type::b32, 2);
  form.emit(wrap ? elementwise<BitMask<true>>(form.simd()) : elementwise<BitMask<false>>(form.simd()),
            OpClass::integer);
}

void decode_szext(Form& form) {
  const bool wrap = form.take_one_of({"wrap", "clamp"}) == "wrap";
  const bool is_signed = ptx::is_signed(form.type());
  take_operands(form, Type::b32, 2);
  const auto choose = [&](auto wraps) {
    return is_signed ? elementwise<SignOrZeroExtend<std::int32_t, wraps>>(form.simd())
                     : elementwise<SignOrZeroExtend<std::uint32_t, wraps>>(form.simd());
  };
  form.emit(with_flags(choose, wrap), OpClass::integer);
}

void decode_fns(Form& form) {
  form.type();
  take_operands(form, Type::b32, 3);
  form.emit(elementwise<FindNthSet>(form.simd()), OpClass::bit_search, 32);
}

}  // namespace

std::span<const Operation> bit_operations() {
  static constexpr Operation kOperations[] = {
      {"and", Operands::any, decode_logic<And>},
      {"or", Operands::any, decode_logic<Or>},
      {"xor", Operands::any, decode_logic<Xor>},
      {"not", Operands::any, decode_not},
      {"cnot", Operands::any, decode_cnot},
      {"shl", Operands::any, decode_shift<choose_bits<ShiftLeft>>},
      {"shr", Operands::any, decode_shift<choose_integer<ShiftRight>>},
      {"shf", Operands::any, decode_shf},
      {"lop3", Operands::any, decode_lop3},
      {"prmt", Operands::any, decode_prmt},
      {"bfe", Operands::any, decode_bfe},
      {"bfi", Operands::any, decode_bfi},
      {"bfind", Operands::any, decode_bfind},
      {"brev", Operands::any, decode_brev},
      {"clz", Operands::any, decode_count<CountLeadingZeros>},
      {"popc", Operands::any, decode_count<CountOnes>},
      {"bmsk", Operands::any, decode_bmsk},
      {"szext", Operands::any, decode_szext},
      {"fns", Operands::any, decode_fns},
  };
  return kOperations;
}

}  // namespace evo::vgpu
