#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluator/vgpu/decode/kernel_builder.h"

namespace evo::vgpu {

/// A PTX statement that is being decoded. It gives out modifiers and operands, and refuses modifiers that the decode
/// function has not taken.
class Form {
 public:
  Form(KernelBuilder& builder, const ptx::Statement& statement);

  const ptx::Statement& statement() const { return statement_; }
  std::string_view name() const { return statement_.parts[0]; }
  Simd simd() const { return builder_.options().simd; }
  KernelBuilder& builder() { return builder_; }

  // Modifiers stand behind the name. Each must be taken once.
  bool take(std::string_view modifier);
  /// Takes the first of these that is present; empty when none is.
  std::string_view take_one_of(std::initializer_list<std::string_view> modifiers);
  /// Takes the first modifier left that is a type. Throws when there is none.
  ptx::Type type();
  std::optional<ptx::Type> optional_type();
  /// Takes the first modifier left; empty when none is left.
  std::string_view take_next();
  bool nothing_left() const { return left_ == 0; }

  // Operands of the statement.
  std::size_t operand_count() const { return statement_.operands.size(); }
  const ptx::Operand& operand(std::size_t index) const;
  /// The elements of a {vector}, or the operand itself.
  std::span<const ptx::Operand> elements(std::size_t index) const;

  // Filling op[0], op[1], ... in the order of the calls.
  void destination(const ptx::Operand& operand, ptx::Type type) { place_destination(operand, type, false); }
  void destination(std::size_t index, ptx::Type type) { destination(operand(index), type); }
  void source(const ptx::Operand& operand, ptx::Type type) { place_source(operand, type, false); }
  void source(std::size_t index, ptx::Type type) { source(operand(index), type); }
  /// One of the two 64-bit registers that a 128-bit one is made of.
  void source_half(const ptx::Operand& operand, bool upper) { half(operand, upper, false, false); }
  void destination_half(const ptx::Operand& operand, bool upper) { half(operand, upper, true, false); }
  void list_source_half(const ptx::Operand& operand, bool upper) { half(operand, upper, false, true); }
  void constant(std::uint64_t bits, ptx::Type type);
  /// A predicate's number; that of a new one for the sink.
  void predicate_destination(const ptx::Operand& operand);
  void predicate_destination_of_pair(const ptx::Operand& operand);
  /// A predicate, perhaps negated, as predicate_operand() encodes it.
  void predicate_source(const ptx::Operand& operand);
  void raw(std::uint32_t value) { fill_constant(value, false); }
  /// A destination that nothing reads.
  void scratch(ptx::Type type);
  /// The declared type of a register operand.
  ptx::Type register_type(const ptx::Operand& operand) const;
  /// A register that only the decoder knows, for statements that become several instructions.
  std::uint32_t new_temporary(ptx::Type type);
  void temporary_destination(std::uint32_t temporary) { fill(temporary, true, false); }
  void temporary_source(std::uint32_t temporary) { fill(temporary, false, false); }
  /// Starts another instruction of the same statement, under the same guard. Drops the operands filled so far.
  void begin_another();
  /// The carry register of add.cc and its like.
  void carry_destination() { fill(builder_.carry(), true, false); }
  void carry_source() { fill(builder_.carry(), false, false); }

  // The list at Instruction::more, for instructions with many operands.
  void begin_list();
  void list_destination(const ptx::Operand& operand, ptx::Type type) { place_destination(operand, type, true); }
  void list_source(const ptx::Operand& operand, ptx::Type type) { place_source(operand, type, true); }

  Instruction& instruction() { return instruction_; }
  /// For the cost model.
  void mma(const MmaForm& form) { mma_ = form; }
  void pending_groups(std::uint32_t count) { pending_groups_ = count; }
  void flow(Flow flow) { flow_ = std::move(flow); }
  std::uint32_t new_cache() { return builder_.new_cache(); }

  /// Adds the instruction. Throws when a modifier is left over.
  void emit(Execute execute, OpClass op_class, int count = 1);

  [[noreturn]] void unsupported(const std::string& why = "") const;

 private:
  struct Widening {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    ptx::Type type = ptx::Type::none;
    int bits = 0;
  };
  void fill(std::uint32_t reg, bool write, bool in_list);
  void half(const ptx::Operand& operand, bool upper, bool write, bool in_list);
  void fill_constant(Place place, bool in_list);
  void place_source(const ptx::Operand& operand, ptx::Type type, bool in_list);
  void place_destination(const ptx::Operand& operand, ptx::Type type, bool in_list);

  KernelBuilder& builder_;
  const ptx::Statement& statement_;
  std::uint32_t left_ = 0;  ///< Modifiers not yet taken, a bit each.
  Instruction instruction_;
  std::size_t filled_ = 0;
  std::vector<Widening> widenings_;
  std::vector<KernelBuilder::Use> uses_;
  std::vector<std::uint32_t> predicate_reads_;
  std::vector<std::uint32_t> predicate_writes_;
  MmaForm mma_;
  std::uint32_t pending_groups_ = 0;
  Flow flow_;
};

}  // namespace evo::vgpu
