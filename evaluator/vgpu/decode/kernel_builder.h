#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "evaluator/vgpu/decode/folding.h"
#include "evaluator/vgpu/machine/kernel.h"
#include "evaluator/vgpu/machine/lanes.h"
#include "evaluator/vgpu/ptx/control_flow.h"
#include "evaluator/vgpu/ptx/ptx.h"

namespace evo::vgpu {

/// Addresses of a module's variables, given out when it is loaded.
struct ModuleLayout {
  std::vector<std::uint64_t> address;  ///< Of each ptx::Module variable in global or constant memory; else 0.
};

struct DecodeOptions {
  Simd simd = best_simd();
};

class KernelBuilder;
/// Adds a statement's instructions to the kernel.
using DecodeStatement = std::function<void(KernelBuilder& builder, const ptx::Statement& statement)>;

/// Builds a kernel instruction by instruction. Registers are numbered without limit here. They get their rows at the
/// end.
class KernelBuilder {
 public:
  KernelBuilder(const ptx::Module& module, const ptx::Function& entry, const ModuleLayout& layout,
                const DecodeOptions& options, DecodeStatement decode_statement);
  std::unique_ptr<Kernel> build();

  const ptx::Module& module() const { return module_; }
  const DecodeOptions& options() const { return options_; }
  Kernel& kernel() { return *kernel_; }

  // Registers of the function that is being decoded.
  ptx::Type type_of(std::uint32_t function_register) const;
  std::uint32_t register_of(std::uint32_t function_register);
  std::uint32_t upper_half_of(std::uint32_t function_register);  ///< Of one of 128 bits.
  std::uint32_t predicate_of(std::uint32_t function_register);
  std::uint32_t carry();

  std::uint32_t new_register(std::uint8_t rows);
  std::uint32_t new_predicate() { return kernel_->predicates++; }
  std::uint32_t new_cache() { return kernel_->caches++; }
  std::uint32_t special(Special special);
  /// A row (two when `wide`) of one value.
  Place constant(std::uint64_t bits, bool wide);
  /// Likewise, of an address in a variable. Those in shared and local memory become Kernel::variable_addresses.
  Place address_constant(const ptx::Operand& variable, std::uint64_t address, bool wide);

  /// Where a variable is: its address in its own space.
  struct VariablePlace {
    ptx::Space space = ptx::Space::none;  ///< global, constant, shared, local or param (of the kernel).
    std::uint64_t address = 0;
    bool framed = false;  ///< In the frame of a called function: counted from its begin.
  };
  VariablePlace place_of(const ptx::Operand& variable);
  std::uint64_t bytes_of(const ptx::Operand& variable) const;

  // Control flow of the function that is being decoded.
  bool in_entry() const { return frames_.size() == 1 && !in_procedure(); }
  bool in_procedure() const { return procedure_ != kNowhere; }
  /// A `ret` here ends a called function, not one that was inlined.
  bool returns_to_caller() const { return frames_.size() == 1 && in_procedure(); }
  void branch_to(const ptx::Operand& label);     ///< For the instruction emitted next.
  void branch_table(const ptx::Operand& table);  ///< Likewise; sets its table.
  void jump_to_return();                         ///< Likewise.

  // Calls.
  /// Where the results and arguments of a call are: .param variables. Those of `callee`, where it is known, must fit.
  CallSite call_site(const ptx::Function* callee, const ptx::Operand* results, const ptx::Operand* arguments) const;
  bool can_inline(const ptx::Function& callee) const;
  void inline_call(const ptx::Function& callee, const ptx::Operand* results, const ptx::Operand* arguments);
  /// The number of the procedure that is the function with code of its own.
  std::uint32_t procedure_of(const ptx::Function& function);
  /// Gives code of their own to all functions that a pointer may lead to.
  void make_procedures_of_pointers();
  /// The address of a function of the module.
  std::uint64_t address_of(std::string_view function) const;

  struct Draft {
    Instruction instruction;
    Flow flow;
    std::uint32_t line = 0;
    std::uint32_t ptx_line = 0;
    std::uint32_t opcode = 0;
    std::uint32_t first_use = 0;
    std::uint32_t use_count = 0;
    OpClass op_class = OpClass::nothing;
    std::uint8_t count = 1;
    bool polls = false;  ///< It reads memory in a loop that only polls.
    MmaForm mma;
    std::uint32_t pending_groups = 0;
    std::vector<std::uint32_t> predicate_reads;
    std::vector<std::uint32_t> predicate_writes;
  };
  struct Use {
    std::uint32_t reg = 0;
    std::uint32_t slot = 0;  ///< Of Instruction::op, or of Kernel::places.
    bool write = false;
    bool in_list = false;
  };
  void add(Draft draft, const std::vector<Use>& uses);
  std::uint32_t opcode_number(std::string opcode);

 private:
  /// A function whose body is being decoded: the entry, or a device function at one call.
  struct Frame {
    const ptx::Function* function = nullptr;
    std::vector<std::uint32_t> registers;  ///< Of each register of the function: ours, or kNowhere so far.
    std::map<std::uint32_t, std::uint32_t> upper_halves;  ///< Of registers of 128 bits.
    std::vector<VariablePlace> variables;
    std::vector<std::uint32_t> statement_start;                         ///< First instruction of each statement.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> label_fixups;  ///< Draft, label.
    std::vector<std::uint32_t> return_fixups;                           ///< Drafts that go to the end of the frame.
    std::uint32_t carry = kNowhere;
  };

  // kernel_builder_procedures.cpp
  void decode_procedures();
  void decode_procedure(std::uint32_t number);
  void write_procedures();

  // kernel_builder_variables.cpp
  void place_shared(const std::set<const ptx::Function*>& reachable);
  void name_shared_variables();
  void place_parameters(Frame& frame);
  void place_locals(Frame& frame, std::size_t first);
  std::uint32_t allocate(std::uint32_t& space, const ptx::Variable& variable);

  Place new_constant(std::uint64_t bits, bool wide);
  const ptx::Variable& declared(const ptx::Operand& variable) const;

  // kernel_builder_polls.cpp
  void mark_polls();
  void mark_first_look(std::size_t begin, const Draft& in_loop);
  bool is_strong(const Draft& draft) const;
  bool only_polls(std::span<const Draft> loop) const;
  bool awaits_others(std::span<const Draft> loop, bool only_polls) const;
  bool only_waits(std::span<const Draft> loop) const;

  void decode_body();
  void close_frame(std::uint32_t end);

  // kernel_builder_completion.cpp
  std::vector<Flow> flows() const;
  void insert_reconvergence_points();
  void write_code();
  std::vector<Fate> fates() const;
  void write_trace();
  void write_product_registers();

  const ptx::Module& module_;
  const ptx::Function& entry_;
  const ModuleLayout& layout_;
  DecodeOptions options_;
  DecodeStatement decode_statement_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<Frame> frames_;
  std::vector<Draft> drafts_;
  std::vector<Use> uses_;
  std::vector<std::uint8_t> rows_of_;
  std::vector<std::uint32_t> pinned_;
  std::map<Special, std::uint32_t> specials_;
  std::map<std::pair<std::uint64_t, bool>, Place> constants_;
  /// By address, width, space and begin of the variable.
  std::map<std::tuple<std::uint64_t, bool, ptx::Space, std::uint64_t>, Place> address_constants_;
  std::map<std::uint32_t, std::uint32_t> shared_variables_;  ///< Module variable: offset in the kernel's shared memory.
  std::map<const ptx::Variable*, std::uint32_t> function_shared_;  ///< Likewise, of functions.
  std::vector<std::uint32_t> dynamic_shared_;
  std::unordered_map<std::string, std::uint32_t> opcodes_;
  std::vector<std::uint32_t> first_row_;
  std::uint32_t procedure_ = kNowhere;  ///< That is being decoded.
  std::uint32_t inlined_ = 0;           ///< Calls.
  std::map<const ptx::Function*, std::uint32_t> procedures_;
  std::vector<const ptx::Function*> called_;  ///< The function of each procedure.
  std::vector<std::uint32_t> waiting_labels_;
  bool waiting_return_ = false;
};

}  // namespace evo::vgpu
