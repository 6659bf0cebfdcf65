#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/numbers/half_lanes.h"

// PTX ISA 9.0, 9.7.6 and 9.7.7 "Comparison and Selection Instructions", with the half precision forms.
namespace evo::vgpu {
namespace {

using ptx::Type;

/// What is compiled: with a NaN all are false. The others are these with a and b exchanged, or denied, or both.
enum class Cmp { eq, ne, lt, le, num };

template <Cmp kCmp, class T>
EVO_INLINE bool ordered_compare(T a, T b) {
  switch (kCmp) {
    case Cmp::eq:
      return a == b;
    case Cmp::ne:
      return (a < b) | (a > b);
    case Cmp::lt:
      return a < b;
    case Cmp::le:
      return a <= b;
    case Cmp::num:
      return (a == a) & (b == b);
  }
  return false;
}

template <class T, Cmp kCmp>
struct Compare {
  static EVO_INLINE bool apply(T a, T b) { return ordered_compare<kCmp>(a, b); }
};
template <class T, Cmp kCmp>
struct CompareFlushed {
  static EVO_INLINE bool apply(T a, T b) { return ordered_compare<kCmp>(flushed<true>(a), flushed<true>(b)); }
};
/// f16 as .ftz reads it.
struct FlushedF16 {
  static EVO_INLINE float widen(std::uint32_t bits) {
    return F16::widen((bits & 0x7fffu) < F16::kLeastNormal ? bits & 0x8000u : bits);
  }
};
template <class Format, Cmp kCmp, int kShift>
struct Half {
  static EVO_INLINE bool apply(Word a, Word b) {
    return ordered_compare<kCmp>(Format::widen(a >> kShift & 0xffffu), Format::widen(b >> kShift & 0xffffu));
  }
};

constexpr std::int64_t kNoBool = 0, kAnd = 1, kOr = 2, kXor = 3, kDenied = 4;
EVO_INLINE std::uint32_t combined(std::uint32_t compared, std::uint32_t with, std::int64_t how) {
  if ((how & kDenied) != 0) compared = ~compared;
  switch (how & ~kDenied) {
    case kAnd:
      return compared & with;
    case kOr:
      return compared | with;
    case kXor:
      return compared ^ with;
    default:
      return compared;
  }
}

/// op: p, q, c, a, b.
template <class Op>
struct SetPredicate {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    const std::uint32_t compared = lanes_where<Op>(warp, in, 3);
    const std::uint32_t with = get_predicate(warp, in.op[2]);
    put_predicate(warp, in.op[0], combined(compared, with, in.immediate), mask);
    put_predicate(warp, in.op[1], combined(~compared, with, in.immediate), mask);
  }
};
/// Halves of a pair: p is the low one's result, q the high one's.
template <class Low, class High>
struct SetPredicatePair {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    const std::uint32_t low = lanes_where<Low>(warp, in, 3);
    const std::uint32_t high = lanes_where<High>(warp, in, 3);
    const std::uint32_t with = get_predicate(warp, in.op[2]);
    put_predicate(warp, in.op[0], combined(low, with, in.immediate), mask);
    put_predicate(warp, in.op[1], combined(high, with, in.immediate), mask);
  }
};
/// op: d, (unused), c, a, b. aux0 is the value of a lane where the comparison holds.
template <class Op>
struct SetValue {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    const std::uint32_t bits = combined(lanes_where<Op>(warp, in, 3), get_predicate(warp, in.op[2]), in.immediate);
    Word* d = warp.own(in.op[0]);
    for (int lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1u) != 0) d[lane] = (bits >> lane & 1u) != 0 ? in.aux0 : 0;
    }
  }
};
template <class Low, class High>
struct SetValuePair {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    const std::uint32_t with = get_predicate(warp, in.op[2]);
    const std::uint32_t low = combined(lanes_where<Low>(warp, in, 3), with, in.immediate);
    const std::uint32_t high = combined(lanes_where<High>(warp, in, 3), with, in.immediate);
    Word* d = warp.own(in.op[0]);
    for (int lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1u) == 0) continue;
      d[lane] = ((low >> lane & 1u) != 0 ? in.aux0 : 0) | ((high >> lane & 1u) != 0 ? in.aux0 << 16 : 0);
    }
  }
};

template <class T>
struct Select {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    const Slot<T>* a = source_row<T>(warp, in.op[1]);
    const Slot<T>* b = source_row<T>(warp, in.op[2]);
    const std::uint32_t choose_a = get_predicate(warp, in.op[3]);
    alignas(64) Slot<T> result[32];
    EVO_LANE_LOOP
    for (int lane = 0; lane < 32; ++lane) result[lane] = (choose_a >> lane & 1u) != 0 ? a[lane] : b[lane];
    blend(own_row<T>(warp, in.op[0]), result, mask);
  }
};
template <class T>
struct SelectBySign {
  static EVO_INLINE T apply(T a, T b, std::int32_t c) { return c >= 0 ? a : b; }
};
template <class T, bool kFlush>
struct SelectByFloat {
  static EVO_INLINE T apply(T a, T b, float c) { return flushed<kFlush>(c) >= 0.0f ? a : b; }
};

// ---- Choosing an instance

struct Chosen {
  Execute predicate = nullptr;
  Execute value = nullptr;
};

template <class Op>
Chosen chosen(Form& form) {
  return {Compiled<SetPredicate<Op>>::choose(form.simd()), Compiled<SetValue<Op>>::plain};
}

template <template <class, Cmp> class Op, class T>
Chosen choose_ordered(Form& form, Cmp cmp) {
  if (cmp == Cmp::num) form.unsupported("this comparison is for floating point");
  using enum Cmp;
  return with_constant<eq, ne, lt, le>(cmp, [&](auto constant) { return chosen<Op<T, constant>>(form); });
}

template <template <class, Cmp> class Op, class T>
Chosen choose_float(Form& form, Cmp cmp) {
  return cmp == Cmp::num ? chosen<Op<T, Cmp::num>>(form) : choose_ordered<Op, T>(form, cmp);
}

template <class Format, Cmp kCmp>
Chosen chosen_half(Form& form, bool pair) {
  using Low = Half<Format, kCmp, 0>;
  using High = Half<Format, kCmp, 16>;
  if (!pair) return chosen<Low>(form);
  return {Compiled<SetPredicatePair<Low, High>>::choose(form.simd()), Compiled<SetValuePair<Low, High>>::plain};
}

template <class Format>
Chosen choose_half(Form& form, Cmp cmp, bool pair) {
  return with_enumerator(cmp, [&](auto constant) { return chosen_half<Format, constant>(form, pair); });
}

struct Comparison {
  std::string_view name;
  Cmp cmp;
  bool exchanged = false;  ///< b is compared with a.
  bool denied = false;     ///< True where cmp is false: with a NaN too.
};
constexpr Comparison kComparisons[] = {
    {"eq", Cmp::eq},
    {"ne", Cmp::ne},
    {"lt", Cmp::lt},
    {"le", Cmp::le},
    {"gt", Cmp::lt, true},
    {"ge", Cmp::le, true},
    {"lo", Cmp::lt},
    {"ls", Cmp::le},
    {"hi", Cmp::lt, true},
    {"hs", Cmp::le, true},
    {"num", Cmp::num},
    {"nan", Cmp::num, false, true},
    {"equ", Cmp::ne, false, true},
    {"neu", Cmp::eq, false, true},
    {"ltu", Cmp::le, true, true},
    {"leu", Cmp::lt, true, true},
    {"gtu", Cmp::le, false, true},
    {"geu", Cmp::lt, false, true},
};

Comparison take_comparison(Form& form) {
  for (const Comparison& known : kComparisons) {
    if (form.take(known.name)) return known;
  }
  form.unsupported("no comparison");
}

Chosen choose(Form& form, const Comparison& comparison, Type type, bool flush) {
  const Cmp cmp = comparison.cmp;
  if (comparison.denied && !ptx::is_float(type)) form.unsupported("this comparison is for floating point");
  switch (type) {
    case Type::f32:
      return flush ? choose_float<CompareFlushed, float>(form, cmp) : choose_float<Compare, float>(form, cmp);
    case Type::f64:
      return choose_float<Compare, double>(form, cmp);
    case Type::f16:
    case Type::f16x2:
      return flush ? choose_half<FlushedF16>(form, cmp, type == Type::f16x2)
                   : choose_half<F16>(form, cmp, type == Type::f16x2);
    case Type::bf16:
    case Type::bf16x2:
      return choose_half<BF16>(form, cmp, type == Type::bf16x2);
    default:
      return with_integer<16>(form, type, [&]<class T>(T) { return choose_ordered<Compare, T>(form, cmp); });
  }
}

std::int64_t take_bool(Form& form) {
  return take_value<std::int64_t>(form, {{"and", kAnd}, {"or", kOr}, {"xor", kXor}}, kNoBool);
}

OpClass compare_class(Type type) {
  if (type == Type::f64) return OpClass::double_fma;
  if (type == Type::f32) return OpClass::float_compare;
  return ptx::is_float(type) ? OpClass::half_compare : OpClass::integer;
}

/// The sources of setp and set behind the destinations: c, a, b.
void take_compared(Form& form, const Comparison& comparison, Type type) {
  const bool combines = form.instruction().immediate != kNoBool;
  combines ? form.predicate_source(form.operand(3)) : form.raw(predicate_operand(0, false));
  form.source(comparison.exchanged ? 2 : 1, type);
  form.source(comparison.exchanged ? 1 : 2, type);
  if (comparison.denied) form.instruction().immediate |= kDenied;
}

void decode_setp(Form& form) {
  const Comparison comparison = take_comparison(form);
  form.instruction().immediate = take_bool(form);
  const bool flush = form.take("ftz");
  const Type type = form.type();
  form.predicate_destination(form.operand(0));
  form.predicate_destination_of_pair(form.operand(0));
  take_compared(form, comparison, type);
  form.emit(choose(form, comparison, type, flush).predicate, compare_class(type), words_of(type));
}

std::uint32_t true_value(Form& form, Type type) {
  switch (type) {
    case Type::u32:
    case Type::s32:
      return 0xffff'ffffu;
    case Type::u16:
    case Type::s16:
      return 0xffffu;
    case Type::f32:
      return 0x3f80'0000u;
    case Type::f16:
    case Type::f16x2:
      return F16::kOne;
    case Type::bf16:
    case Type::bf16x2:
      return BF16::kOne;
    default:
      form.unsupported("result type ." + std::string(ptx::name_of(type)));
  }
}

void decode_set(Form& form) {
  const Comparison comparison = take_comparison(form);
  form.instruction().immediate = take_bool(form);
  const bool flush = form.take("ftz");
  const Type result = form.type();
  const Type type = form.type();
  const bool pair = type == Type::f16x2 || type == Type::bf16x2;
  form.destination(0, pair ? Type::b32 : result);
  form.raw(0);
  take_compared(form, comparison, type);
  // The integer result of a pair has a half for each: 0xffff.
  form.instruction().aux0 = pair && !ptx::is_float(result) ? 0xffffu : true_value(form, result);
  form.emit(choose(form, comparison, type, flush).value, compare_class(type), words_of(type));
}

void decode_selp(Form& form) {
  const Type type = form.type();
  form.destination(0, type);
  form.source(1, type);
  form.source(2, type);
  form.predicate_source(form.operand(3));
  form.emit(ptx::bits_of(type) == 64 ? Compiled<Select<std::uint64_t>>::choose(form.simd())
                                     : Compiled<Select<std::uint32_t>>::choose(form.simd()),
            OpClass::integer, words_of(type));
}

template <class T>
using SelectByKeptFloat = SelectByFloat<T, false>;
template <class T>
using SelectByFlushedFloat = SelectByFloat<T, true>;

void decode_slct(Form& form) {
  const bool flush = form.take("ftz");
  const Type type = form.type();
  const Type by = form.type();
  form.destination(0, type);
  form.source(1, type);
  form.source(2, type);
  form.source(3, by);
  if (by != Type::s32 && by != Type::f32) form.unsupported("selects by .s32 or .f32");
  Execute execute = choose_bits<SelectBySign>(form, type);
  if (by == Type::f32)
    execute = flush ? choose_bits<SelectByFlushedFloat>(form, type) : choose_bits<SelectByKeptFloat>(form, type);
  form.emit(execute, OpClass::integer, words_of(type));
}

}  // namespace

std::span<const Operation> compare_operations() {
  static constexpr Operation kOperations[] = {
      {"setp", Operands::any, decode_setp},
      {"set", Operands::any, decode_set},
      {"selp", Operands::any, decode_selp},
      {"slct", Operands::any, decode_slct},
  };
  return kOperations;
}

}  // namespace evo::vgpu
