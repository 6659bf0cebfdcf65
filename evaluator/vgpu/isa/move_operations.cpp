#include "evaluator/vgpu/isa/operations.h"
#include "evaluator/vgpu/machine/cluster.h"
#include "evaluator/vgpu/machine/memory.h"

// PTX ISA 9.0, 9.7.9: mov, with packing and unpacking, and address-space casts.
namespace evo::vgpu {
namespace {

using ptx::Type;

template <class T>
struct Copy {
  static EVO_INLINE T apply(T a) { return a; }
};

struct PredicateCopy {
  static void execute(Warp& warp, const Instruction& in, std::uint32_t mask) {
    put_predicate(warp, in.op[0], get_predicate(warp, in.op[1]), mask);
  }
};

template <class Part, class Whole>
struct Pack2 {
  static EVO_INLINE Whole apply(Part a, Part b) {
    return static_cast<Whole>(static_cast<Whole>(a) | static_cast<Whole>(static_cast<Whole>(b) << (8 * sizeof(Part))));
  }
};
template <class Part, class Whole>
struct Pack4 {
  static EVO_INLINE Whole apply(Part a, Part b, Part c, Part d) {
    constexpr int kBits = 8 * sizeof(Part);
    return static_cast<Whole>(a) | static_cast<Whole>(b) << kBits | static_cast<Whole>(c) << 2 * kBits |
           static_cast<Whole>(d) << 3 * kBits;
  }
};

/// op: the parts' destinations, then the whole.
template <class Part, class Whole, int kParts>
struct Unpack {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    const Slot<Whole>* whole = source_row<Whole>(warp, in.op[kParts]);
    for (int part = 0; part < kParts; ++part) {
      alignas(64) Slot<Part> result[32];
      EVO_LANE_LOOP
      for (int lane = 0; lane < 32; ++lane) {
        put<Part>(result, lane, static_cast<Part>(get<Whole>(whole, lane) >> (8 * sizeof(Part) * part)));
      }
      blend(own_row<Part>(warp, in.op[static_cast<std::size_t>(part)]), result, mask);
    }
  }
};

Type bits_type(int bits) {
  switch (bits) {
    case 8:
      return Type::b8;
    case 16:
      return Type::b16;
    case 32:
      return Type::b32;
    default:
      return Type::b64;
  }
}

void decode_pack(Form& form, Type type) {
  const auto parts = form.elements(1);
  const int whole = ptx::bits_of(type);
  const int part = whole / static_cast<int>(parts.size());
  form.destination(0, type);
  for (const ptx::Operand& element : parts) form.source(element, bits_type(part));
  Execute execute = nullptr;
  if (parts.size() == 2 && whole == 64) execute = elementwise<Pack2<std::uint32_t, std::uint64_t>>(form.simd());
  if (parts.size() == 2 && whole == 32) execute = elementwise<Pack2<std::uint16_t, std::uint32_t>>(form.simd());
  if (parts.size() == 2 && whole == 16) execute = elementwise<Pack2<std::uint8_t, std::uint16_t>>(form.simd());
  if (parts.size() == 4 && whole == 64) execute = elementwise<Pack4<std::uint16_t, std::uint64_t>>(form.simd());
  if (parts.size() == 4 && whole == 32) execute = elementwise<Pack4<std::uint8_t, std::uint32_t>>(form.simd());
  if (execute == nullptr) form.unsupported("packing of that shape");
  form.emit(execute, part == 32 ? OpClass::nothing : OpClass::integer, parts.size() == 4 ? 2 : 1);
}

void decode_unpack(Form& form, Type type) {
  const auto parts = form.elements(0);
  const int whole = ptx::bits_of(type);
  const int part = whole / static_cast<int>(parts.size());
  for (const ptx::Operand& element : parts) form.destination(element, bits_type(part));
  form.source(1, type);
  Execute execute = nullptr;
  if (parts.size() == 2 && whole == 64)
    execute = Compiled<Unpack<std::uint32_t, std::uint64_t, 2>>::choose(form.simd());
  if (parts.size() == 2 && whole == 32)
    execute = Compiled<Unpack<std::uint16_t, std::uint32_t, 2>>::choose(form.simd());
  if (parts.size() == 2 && whole == 16) execute = Compiled<Unpack<std::uint8_t, std::uint16_t, 2>>::choose(form.simd());
  if (parts.size() == 4 && whole == 64)
    execute = Compiled<Unpack<std::uint16_t, std::uint64_t, 4>>::choose(form.simd());
  if (parts.size() == 4 && whole == 32) execute = Compiled<Unpack<std::uint8_t, std::uint32_t, 4>>::choose(form.simd());
  if (execute == nullptr) form.unsupported("unpacking of that shape");
  // Halves of a word are used in place by most instructions.
  form.emit(execute, part == 8 ? OpClass::integer : OpClass::nothing);
}

// ---- Clocks: they advance with the warp, one tick an instruction, so that runs repeat exactly.

template <class T, int kShift>
void read_clock(Warp& warp, const Instruction& in, std::uint32_t mask) {
  Slot<T>* d = own_row<T>(warp, in.op[0]);
  for (const int lane : lanes_of(mask)) put<T>(d, lane, static_cast<T>(warp.executed >> kShift));
}

struct Clock {
  Execute execute = nullptr;  ///< Null: the name is no clock's.
  bool wide = false;
};
Clock clock_named(std::string_view name) {
  if (name == "%clock" || name == "%globaltimer_lo") return {read_clock<std::uint32_t, 0>, false};
  if (name == "%clock_hi" || name == "%globaltimer_hi") return {read_clock<std::uint32_t, 32>, false};
  if (name == "%clock64" || name == "%globaltimer") return {read_clock<std::uint64_t, 0>, true};
  return {};
}

/// A predicate from a special register.
struct IsSet {
  static EVO_INLINE bool apply(std::uint32_t a) { return a != 0; }
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    put_predicate(warp, in.op[0], lanes_where<IsSet>(warp, in, 1), mask);
  }
};

struct ZeroExtend {
  static EVO_INLINE std::uint64_t apply(std::uint32_t a) { return a; }
};

void decode_special(Form& form, Type type) {
  const std::string_view name = form.operand(1).name;
  const bool wide = ptx::bits_of(type) == 64;
  form.destination(0, type);
  if (const Clock clock = clock_named(name); clock.execute != nullptr) {
    if (clock.wide != wide || ptx::bits_of(type) < 32)
      form.unsupported("special register " + std::string(name) + " has another width");
    return form.emit(clock.execute, OpClass::special_register);
  }
  if (wide) {
    form.source(1, Type::u32);
    return form.emit(elementwise<ZeroExtend>(form.simd()), OpClass::special_register);
  }
  form.source(1, type);
  form.emit(elementwise<Copy<std::uint32_t>>(form.simd()), OpClass::special_register);
}

/// 128 bits: to, from or between registers that are pairs of 64-bit ones.
void decode_wide_mov(Form& form) {
  const ptx::Operand &to = form.operand(0), &from = form.operand(1);
  const bool unpacks = to.kind == ptx::Operand::Kind::vector, packs = from.kind == ptx::Operand::Kind::vector;
  if ((unpacks && to.elements.size() != 2) || (packs && from.elements.size() != 2) || (packs && unpacks))
    form.unsupported("packing of that shape");
  for (const bool upper : {false, true}) {
    form.begin_another();
    unpacks ? form.destination(to.elements[upper ? 1 : 0], Type::b64) : form.destination_half(to, upper);
    packs ? form.source(from.elements[upper ? 1 : 0], Type::b64) : form.source_half(from, upper);
    form.emit(elementwise<Copy<std::uint64_t>>(form.simd()), OpClass::nothing);
  }
}

void decode_mov(Form& form) {
  const Type type = form.type();
  if (type == Type::b128) return decode_wide_mov(form);
  if (type == Type::pred) {
    form.predicate_destination(form.operand(0));
    if (form.operand(1).kind == ptx::Operand::Kind::special) {
      form.source(1, Type::u32);
      return form.emit(Compiled<IsSet>::choose(form.simd()), OpClass::special_register);
    }
    form.predicate_source(form.operand(1));
    return form.emit(PredicateCopy::execute, OpClass::nothing);
  }
  if (form.operand(0).kind == ptx::Operand::Kind::vector) return decode_unpack(form, type);
  if (form.operand(1).kind == ptx::Operand::Kind::vector) return decode_pack(form, type);
  if (form.operand(1).kind == ptx::Operand::Kind::special) return decode_special(form, type);
  take_operands(form, type, 1);
  form.emit(ptx::bits_of(type) == 64 ? elementwise<Copy<std::uint64_t>>(form.simd())
                                     : elementwise<Copy<std::uint32_t>>(form.simd()),
            OpClass::nothing);
}

// ---- Address spaces

/// The offset between a space's addresses and generic ones.
struct Rebase {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    const std::uint64_t* a = source_row<std::uint64_t>(warp, in.op[1]);
    const auto offset = static_cast<std::uint64_t>(in.immediate);
    alignas(64) std::uint64_t result[32];
    EVO_LANE_LOOP
    for (int lane = 0; lane < 32; ++lane) result[lane] = a[lane] + offset;
    blend(own_row<std::uint64_t>(warp, in.op[0]), result, mask);
  }
};

std::uint64_t window_of(Form& form, std::string_view space) {
  if (space == "global" || space == "const") return 0;
  if (space.starts_with("shared")) return kSharedWindow;
  if (space == "local") return kLocalWindow;
  if (space.starts_with("param")) return kParameterWindow;
  form.unsupported("state space ." + std::string(space));
}

void decode_cvta(Form& form) {
  const bool from_generic = form.take("to");
  const Type type = form.type();
  const std::string_view space = form.take_next();
  if (type != Type::u64) form.unsupported("only .u64");
  std::uint64_t window = window_of(form, space);
  const ptx::Operand& operand = form.operand(1);
  if (operand.kind == ptx::Operand::Kind::variable && form.builder().place_of(operand).space == ptx::Space::local) {
    window = kLocalWindow;  // A parameter of an inlined function lives in local memory.
  }
  form.destination(0, type);
  form.source(1, type);
  form.instruction().immediate = static_cast<std::int64_t>(from_generic ? 0 - window : window);
  form.emit(Compiled<Rebase>::choose(form.simd()), OpClass::nothing);
}

/// Whether a generic address lies in a space.
template <class Test>
struct TestAddress {
  static EVO_INLINE void run(Warp& warp, const Instruction& in, std::uint32_t mask) {
    put_predicate(warp, in.op[0], lanes_where<Test>(warp, in, 1), mask);
  }
};
template <std::uint64_t kWindow>
struct InWindow {
  static EVO_INLINE bool apply(std::uint64_t a) { return a - kWindow < kWindowBytes; }
};
/// In a window the addresses of other blocks of the cluster carry a rank.
struct InOwnBlock {
  static EVO_INLINE bool apply(std::uint64_t a) { return a - kSharedWindow < 1u << kRankShift; }
};
/// What is in no window, also null.
struct InGlobal {
  static EVO_INLINE bool apply(std::uint64_t a) {
    return a - kSharedWindow >= kWindowBytes && a - kLocalWindow >= kWindowBytes &&
           a - kParameterWindow >= kWindowBytes;
  }
};
/// Constant memory has no window here.
void test_constant(Warp& warp, const Instruction& in, std::uint32_t mask) {
  const std::uint64_t* address = source_row<std::uint64_t>(warp, in.op[1]);
  std::uint32_t where = 0;
  for (const int lane : lanes_of(mask)) {
    const Allocation* found = warp.launch->memory->find(address[lane]);
    if (found != nullptr && found->read_only) where |= 1u << lane;
  }
  put_predicate(warp, in.op[0], where, mask);
}

void decode_isspacep(Form& form) {
  const std::string_view space = form.take_next();
  form.predicate_destination(form.operand(0));
  form.source(1, Type::u64);
  Execute execute = nullptr;
  if (space == "global") execute = Compiled<TestAddress<InGlobal>>::choose(form.simd());
  if (space == "const") execute = test_constant;
  if (space == "shared" || space == "shared::cta") execute = Compiled<TestAddress<InOwnBlock>>::choose(form.simd());
  if (space == "shared::cluster") execute = Compiled<TestAddress<InWindow<kSharedWindow>>>::choose(form.simd());
  if (space == "local") execute = Compiled<TestAddress<InWindow<kLocalWindow>>>::choose(form.simd());
  if (space.starts_with("param")) execute = Compiled<TestAddress<InWindow<kParameterWindow>>>::choose(form.simd());
  if (execute == nullptr) form.unsupported("state space ." + std::string(space));
  form.emit(execute, OpClass::integer);
}

}  // namespace

std::span<const Operation> move_operations() {
  static constexpr Operation kOperations[] = {
      {"mov", Operands::any, decode_mov},
      {"cvta", Operands::any, decode_cvta},
      {"isspacep", Operands::any, decode_isspacep},
  };
  return kOperations;
}

}  // namespace evo::vgpu
