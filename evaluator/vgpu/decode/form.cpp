#include "evaluator/vgpu/decode/form.h"

#include <bit>
#include <utility>

#include "evaluator/vgpu/machine/lanes.h"
#include "evaluator/vgpu/machine/special_registers.h"
#include "evaluator/vgpu/ptx/load_error.h"

namespace evo::vgpu {
namespace {

bool is_wide(ptx::Type type) {
  return ptx::bits_of(type) == 64;
}

/// The bits of a literal as a value of the type.
std::uint64_t literal_bits(const ptx::Operand& literal, ptx::Type type) {
  using Kind = ptx::Operand::Kind;
  if (literal.kind == Kind::f64 && type == ptx::Type::f32) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(literal.bits)));
  }
  if (literal.kind == Kind::f32 && type == ptx::Type::f64) {
    return std::bit_cast<std::uint64_t>(
        static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(literal.bits))));
  }
  const int bits = ptx::bits_of(type);
  return bits >= 64 ? literal.bits : literal.bits & ((1ull << bits) - 1);
}

template <class Address>
struct FrameAddress {
  static EVO_INLINE Address apply(std::uint32_t frame, std::uint32_t offset) { return frame + offset; }
};
struct TakeLowWord {
  static EVO_INLINE std::uint32_t apply(std::uint64_t a) { return static_cast<std::uint32_t>(a); }
};
template <class From, class To>
struct Widen {
  static EVO_INLINE To apply(From a) { return static_cast<To>(static_cast<std::make_signed_t<To>>(a)); }
};
template <class From>
struct WidenUnsigned {
  static EVO_INLINE std::uint64_t apply(From a) { return a; }
};

}  // namespace

Form::Form(KernelBuilder& builder, const ptx::Statement& statement) : builder_(builder), statement_(statement) {
  if (statement.parts.size() > 31) unsupported("too many modifiers");
  left_ = ((1u << statement.parts.size()) - 1) & ~1u;
}

void Form::unsupported(const std::string& why) const {
  std::string text = "unsupported instruction " + statement_.opcode();
  text += statement_.line != 0 ? " at line " + std::to_string(statement_.line) : "";
  text += " (PTX line " + std::to_string(statement_.ptx_line) + ")";
  if (!why.empty()) text += ": " + why;
  throw LoadError(text);
}

// ---- Modifiers

bool Form::take(std::string_view modifier) {
  for (std::size_t i = 1; i < statement_.parts.size(); ++i) {
    if ((left_ >> i & 1u) == 0 || statement_.parts[i] != modifier) continue;
    left_ &= ~(1u << i);
    return true;
  }
  return false;
}

std::string_view Form::take_one_of(std::initializer_list<std::string_view> modifiers) {
  for (const std::string_view modifier : modifiers) {
    if (take(modifier)) return modifier;
  }
  return {};
}

std::optional<ptx::Type> Form::optional_type() {
  for (std::size_t i = 1; i < statement_.parts.size(); ++i) {
    if ((left_ >> i & 1u) == 0) continue;
    const ptx::Type type = ptx::parse_type(statement_.parts[i]);
    if (type == ptx::Type::none) continue;
    left_ &= ~(1u << i);
    return type;
  }
  return std::nullopt;
}

ptx::Type Form::type() {
  const auto type = optional_type();
  if (!type) unsupported("no type");
  return *type;
}

std::string_view Form::take_next() {
  for (std::size_t i = 1; i < statement_.parts.size(); ++i) {
    if ((left_ >> i & 1u) == 0) continue;
    left_ &= ~(1u << i);
    return statement_.parts[i];
  }
  return {};
}

// ---- Operands

const ptx::Operand& Form::operand(std::size_t index) const {
  if (index >= statement_.operands.size()) unsupported("too few operands");
  return statement_.operands[index];
}

std::span<const ptx::Operand> Form::elements(std::size_t index) const {
  const ptx::Operand& whole = operand(index);
  if (whole.kind == ptx::Operand::Kind::vector) return whole.elements;
  return {&whole, 1};
}

void Form::fill(std::uint32_t reg, bool write, bool in_list) {
  const auto slot = static_cast<std::uint32_t>(in_list ? builder_.kernel().places.size() : filled_);
  uses_.push_back({reg, slot, write, in_list});
  fill_constant(0, in_list);
}

void Form::fill_constant(Place place, bool in_list) {
  if (in_list) return builder_.kernel().places.push_back(place);
  if (filled_ >= kInlineOperands) unsupported("too many operands");
  instruction_.op[filled_++] = place;
}

void Form::place_source(const ptx::Operand& operand, ptx::Type type, bool in_list) {
  using Kind = ptx::Operand::Kind;
  switch (operand.kind) {
    case Kind::integer:
    case Kind::f32:
    case Kind::f64:
      return fill_constant(builder_.constant(literal_bits(operand, type), is_wide(type)), in_list);
    case Kind::variable: {
      const auto place = builder_.place_of(operand);
      const std::uint64_t address = place.address + static_cast<std::uint64_t>(operand.offset);
      if (!place.framed) return fill_constant(builder_.address_constant(operand, address, is_wide(type)), in_list);
      const std::uint32_t sum = builder_.new_register(is_wide(type) ? 2 : 1);
      Form in_frame(builder_, statement_);
      in_frame.left_ = 0;
      in_frame.fill(sum, true, false);
      in_frame.fill(builder_.special(Special::frame), false, false);
      in_frame.fill_constant(builder_.constant(address, false), false);
      in_frame.emit(is_wide(type) ? elementwise<FrameAddress<std::uint64_t>>(simd())
                                  : elementwise<FrameAddress<std::uint32_t>>(simd()),
                    OpClass::nothing);
      return fill(sum, false, in_list);
    }
    case Kind::function:
      return fill_constant(builder_.constant(builder_.address_of(operand.name), is_wide(type)), in_list);
    case Kind::special: {
      const auto special = parse_special(operand.name);
      if (!special) unsupported("unknown register " + std::string(operand.name));
      if (is_wide(type)) unsupported("special register " + std::string(operand.name) + " is not 64 bits wide");
      return fill(builder_.special(*special), false, in_list);
    }
    case Kind::reg:
      break;
    default:
      unsupported("a register or a number is expected as operand");
  }
  if (operand.negated) unsupported("a negated operand");
  if (!operand.name.empty()) unsupported("a part ." + std::string(operand.name) + " of a register");
  const ptx::Type declared = builder_.type_of(operand.index);
  if (declared == ptx::Type::pred) unsupported("a predicate stands where a value is expected");
  if (ptx::bits_of(declared) > 64) unsupported("128-bit registers");
  const std::uint32_t reg = builder_.register_of(operand.index);
  if (is_wide(declared) == is_wide(type)) return fill(reg, false, in_list);
  if (is_wide(type)) unsupported("a register is narrower than the instruction's type");
  const std::uint32_t low = builder_.new_register(1);
  Form narrowing(builder_, statement_);
  narrowing.left_ = 0;
  narrowing.fill(low, true, false);
  narrowing.fill(reg, false, false);
  narrowing.emit(elementwise<TakeLowWord>(simd()), OpClass::nothing);
  fill(low, false, in_list);
}

void Form::place_destination(const ptx::Operand& operand, ptx::Type type, bool in_list) {
  using Kind = ptx::Operand::Kind;
  const std::uint8_t rows = is_wide(type) ? 2 : 1;
  if (operand.kind == Kind::sink) return fill(builder_.new_register(rows), true, in_list);
  if (operand.kind == Kind::special) unsupported("unknown register " + std::string(operand.name));
  if (operand.kind != Kind::reg || operand.negated) unsupported("a register is expected as destination");
  if (!operand.name.empty()) unsupported("a part ." + std::string(operand.name) + " of a register");
  const ptx::Type declared = builder_.type_of(operand.index);
  if (declared == ptx::Type::pred) unsupported("a predicate stands where a register is expected");
  if (ptx::bits_of(declared) > 64) unsupported("128-bit registers");
  const std::uint32_t reg = builder_.register_of(operand.index);
  const int bits = ptx::bits_of(type);
  const int declared_bits = ptx::bits_of(declared);
  const bool sign_extends = ptx::is_signed(type) && bits < 32 && declared_bits > bits;
  if (is_wide(declared) == is_wide(type) && !sign_extends) return fill(reg, true, in_list);
  if (is_wide(type)) unsupported("a register is narrower than the instruction's type");
  const std::uint32_t narrow = builder_.new_register(rows);
  fill(narrow, true, in_list);
  widenings_.push_back({narrow, reg, type, declared_bits});
}

void Form::half(const ptx::Operand& operand, bool upper, bool write, bool in_list) {
  const bool is_sink = write && operand.kind == ptx::Operand::Kind::sink;
  if (is_sink) return fill(builder_.new_register(2), true, in_list);
  if (register_type(operand) != ptx::Type::b128) unsupported("a register of 128 bits is expected");
  fill(upper ? builder_.upper_half_of(operand.index) : builder_.register_of(operand.index), write, in_list);
}

void Form::constant(std::uint64_t bits, ptx::Type type) {
  fill_constant(builder_.constant(bits, is_wide(type)), false);
}

ptx::Type Form::register_type(const ptx::Operand& operand) const {
  if (operand.kind != ptx::Operand::Kind::reg) unsupported("a register is expected");
  return builder_.type_of(operand.index);
}

std::uint32_t Form::new_temporary(ptx::Type type) {
  return builder_.new_register(is_wide(type) ? 2 : 1);
}

void Form::begin_another() {
  instruction_ = {};
  filled_ = 0;
  uses_.clear();
  widenings_.clear();
  predicate_reads_.clear();
  predicate_writes_.clear();
}

void Form::scratch(ptx::Type type) {
  fill(builder_.new_register(is_wide(type) ? 2 : 1), true, false);
}

void Form::begin_list() {
  instruction_.more = static_cast<std::uint32_t>(builder_.kernel().places.size());
}

void Form::predicate_destination(const ptx::Operand& operand) {
  if (operand.kind == ptx::Operand::Kind::sink) return raw(builder_.new_predicate());
  if (operand.kind != ptx::Operand::Kind::reg || builder_.type_of(operand.index) != ptx::Type::pred)
    unsupported("a predicate is expected as destination");
  const std::uint32_t predicate = builder_.predicate_of(operand.index);
  predicate_writes_.push_back(predicate);
  raw(predicate);
}

void Form::predicate_destination_of_pair(const ptx::Operand& operand) {
  if (operand.pair < 0) return raw(builder_.new_predicate());
  ptx::Operand second;
  second.kind = ptx::Operand::Kind::reg;
  second.index = static_cast<std::uint32_t>(operand.pair);
  predicate_destination(second);
}

void Form::predicate_source(const ptx::Operand& operand) {
  if (operand.kind == ptx::Operand::Kind::integer)
    return raw(predicate_operand(0, (operand.bits == 0) != operand.negated));  // Number 0 is true.
  if (operand.kind != ptx::Operand::Kind::reg || builder_.type_of(operand.index) != ptx::Type::pred)
    unsupported("a predicate is expected");
  const std::uint32_t predicate = builder_.predicate_of(operand.index);
  predicate_reads_.push_back(predicate);
  raw(predicate_operand(predicate, operand.negated));
}

// ---- Emission

void Form::emit(Execute execute, OpClass op_class, int count) {
  if (!nothing_left()) unsupported("modifier ." + std::string(take_next()));
  KernelBuilder::Draft draft;
  draft.instruction = instruction_;
  draft.instruction.execute = execute;
  if (statement_.guard != ptx::kNoRegister) {
    const std::uint32_t guard = builder_.predicate_of(static_cast<std::uint32_t>(statement_.guard));
    draft.instruction.guard = guard;
    draft.instruction.guard_flip = statement_.guard_negated ? kAllLanes : 0;
    predicate_reads_.push_back(guard);
  }
  draft.flow = std::move(flow_);
  draft.line = statement_.line;
  draft.ptx_line = statement_.ptx_line;
  draft.opcode = builder_.opcode_number(statement_.opcode());
  draft.op_class = op_class;
  draft.count = static_cast<std::uint8_t>(count);
  draft.mma = mma_;
  draft.pending_groups = pending_groups_;
  draft.predicate_reads = std::move(predicate_reads_);
  draft.predicate_writes = std::move(predicate_writes_);
  builder_.add(std::move(draft), uses_);

  for (const Widening& widening : widenings_) {
    Form extension(builder_, statement_);
    extension.left_ = 0;
    extension.fill(widening.to, true, false);
    extension.fill(widening.from, false, false);
    const bool wide = widening.bits == 64;
    Execute extend = nullptr;
    switch (widening.type) {
      case ptx::Type::s8:
        extend = wide ? elementwise<Widen<std::int8_t, std::uint64_t>>(simd())
                      : elementwise<Widen<std::int8_t, std::uint32_t>>(simd());
        break;
      case ptx::Type::s16:
        extend = wide ? elementwise<Widen<std::int16_t, std::uint64_t>>(simd())
                      : elementwise<Widen<std::int16_t, std::uint32_t>>(simd());
        break;
      case ptx::Type::s32:
        extend = elementwise<Widen<std::int32_t, std::uint64_t>>(simd());
        break;
      default:
        extend = elementwise<WidenUnsigned<std::uint32_t>>(simd());
        break;
    }
    if (!wide && widening.bits == 16) {
      // A byte in a 16-bit register: the upper half of the row stays zero.
      struct WidenByte {
        static EVO_INLINE std::uint16_t apply(std::int8_t a) { return static_cast<std::uint16_t>(a); }
      };
      extend = elementwise<WidenByte>(simd());
    }
    extension.emit(extend, OpClass::nothing);
  }
}

}  // namespace evo::vgpu
