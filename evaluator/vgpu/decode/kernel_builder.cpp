#include "evaluator/vgpu/decode/kernel_builder.h"

#include <algorithm>
#include <set>

#include "engine/base/demangled.h"
#include "evaluator/vgpu/decode/row_allocation.h"
#include "evaluator/vgpu/machine/control_transfer.h"
#include "evaluator/vgpu/machine/memory.h"
#include "evaluator/vgpu/ptx/independence.h"
#include "evaluator/vgpu/ptx/load_error.h"
#include "evaluator/vgpu/ptx/reachable.h"

namespace evo::vgpu {
namespace {

constexpr std::size_t kMaxInstructions = 4'000'000;
// A thread's local memory on every architecture here (CUDA C++ Programming Guide, "Technical Specifications"); shared
// memory and parameters have less, which the launch checks.
constexpr std::uint64_t kMaxSpaceBytes = 512 * 1024;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::string quoted(std::string_view name) {
  return "'" + std::string(name) + "'";
}

// What cooperative groups expect to be theirs (cooperative_groups/details/memory.h).
constexpr std::uint32_t kCooperativeSmemBytes = 288;

bool names(const ptx::Operand& operand, std::string_view special) {
  return operand.kind == ptx::Operand::Kind::special && operand.name == special;
}

void module_variables_used(const ptx::Operand& operand, std::set<std::uint32_t>& found) {
  if (operand.kind == ptx::Operand::Kind::variable && operand.of_module) found.insert(operand.index);
  for (const ptx::Operand& element : operand.elements) module_variables_used(element, found);
}

}  // namespace

KernelBuilder::KernelBuilder(const ptx::Module& module, const ptx::Function& entry, const ModuleLayout& layout,
                             const DecodeOptions& options, DecodeStatement decode_statement)
    : module_(module),
      entry_(entry),
      layout_(layout),
      options_(options),
      decode_statement_(std::move(decode_statement)),
      kernel_(std::make_unique<Kernel>()) {}

std::unique_ptr<Kernel> KernelBuilder::build() {
  kernel_->name = readable_kernel_name(entry_.name);
  kernel_->required_block = entry_.required_block;
  kernel_->maximum_block = entry_.maximum_block;
  kernel_->required_cluster = entry_.required_cluster;

  // Shared memory of the module that the kernel uses, then of the functions: all before the dynamic part.
  const std::set<const ptx::Function*> reachable = reachable_functions(module_, entry_);
  kernel_->independent_blocks = blocks_are_independent(reachable, module_);
  kernel_->shares_counters = blocks_share_counters(reachable);
  std::set<std::uint32_t> used;
  bool reserves = false;
  for (const ptx::Function* function : reachable) {
    for (const ptx::Statement& statement : function->body) {
      for (const ptx::Operand& operand : statement.operands) {
        module_variables_used(operand, used);
        reserves |= names(operand, "%reserved_smem_offset_1");
        kernel_->cooperative |= names(operand, "%envreg1") || names(operand, "%envreg2");
      }
    }
  }
  if (reserves) {
    ptx::Variable reserved;
    reserved.name = "(cooperative groups)";
    reserved.align = 16;
    reserved.bytes = kCooperativeSmemBytes;
    kernel_->reserved_smem_bytes = kCooperativeSmemBytes;
    kernel_->reserved_smem = allocate(kernel_->static_smem_bytes, reserved);
  }
  std::uint32_t dynamic_align = 16;
  for (const std::uint32_t index : used) {
    const ptx::Variable& variable = module_.variables[index];
    if (variable.space != ptx::Space::shared) continue;
    if (variable.unsized) {
      dynamic_align = std::max(dynamic_align, static_cast<std::uint32_t>(variable.align));
      dynamic_shared_.push_back(index);
    } else {
      shared_variables_[index] = allocate(kernel_->static_smem_bytes, variable);
    }
  }
  for (const ptx::Function& function : module_.functions) {
    if (!reachable.contains(&function)) continue;
    for (const ptx::Variable& variable : function.variables) {
      if (variable.space != ptx::Space::shared) continue;
      function_shared_[&variable] = allocate(kernel_->static_smem_bytes, variable);
    }
  }
  name_shared_variables();
  kernel_->static_smem_bytes = static_cast<std::uint32_t>(round_up(kernel_->static_smem_bytes, dynamic_align));
  for (const std::uint32_t index : dynamic_shared_) shared_variables_[index] = kernel_->static_smem_bytes;

  Frame frame;
  frame.function = &entry_;
  frame.registers.assign(entry_.registers.size(), kNowhere);
  place_parameters(frame);
  place_locals(frame, entry_.parameter_count);
  frames_.push_back(std::move(frame));
  decode_body();
  const auto end = static_cast<std::uint32_t>(drafts_.size());
  Draft last;
  last.instruction.execute = execute_exit;
  last.flow.kind = Flow::Kind::leave;
  last.op_class = OpClass::leave;
  last.opcode = opcode_number("exit");
  if (!drafts_.empty()) {
    last.line = drafts_.back().line;
    last.ptx_line = drafts_.back().ptx_line;
  }
  close_frame(end);
  add(std::move(last), {});
  decode_procedures();

  insert_reconvergence_points();
  write_code();
  write_procedures();
  write_trace();
  write_product_registers();
  return std::move(kernel_);
}

// ---- Variables

namespace {

/// "tile" from _ZZ6kernelPfE4tile: the name within its function.
std::string readable(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  const std::string whole = demangled(name);
  const std::size_t colons = whole.rfind("::");
  return colons == std::string::npos ? whole : whole.substr(colons + 2);
}

}  // namespace

void KernelBuilder::name_shared_variables() {
  const auto add = [&](const ptx::Variable& variable, std::uint32_t offset) {
    kernel_->shared_variables.push_back(
        {readable(variable.name), kReservedSmemBytes + offset, static_cast<std::uint32_t>(variable.bytes)});
  };
  for (const auto& [index, offset] : shared_variables_) add(module_.variables[index], offset);
  for (const auto& [variable, offset] : function_shared_) add(*variable, offset);
  if (!dynamic_shared_.empty()) kernel_->dynamic_smem_name = readable(module_.variables[dynamic_shared_.front()].name);
}

std::uint32_t KernelBuilder::allocate(std::uint32_t& space, const ptx::Variable& variable) {
  const std::uint64_t at = round_up(space, std::max<std::uint64_t>(variable.align, 1));
  if (at + variable.bytes > kMaxSpaceBytes)
    throw LoadError("variable " + quoted(variable.name) + " does not fit its state space");
  space = static_cast<std::uint32_t>(at + variable.bytes);
  return static_cast<std::uint32_t>(at);
}

void KernelBuilder::place_parameters(Frame& frame) {
  for (std::size_t i = 0; i < entry_.parameter_count; ++i) {
    const ptx::Variable& variable = entry_.variables[i];
    const std::uint32_t offset = allocate(kernel_->parameter_bytes, variable);
    kernel_->parameters.push_back({offset, static_cast<std::uint32_t>(variable.bytes), variable.type});
    frame.variables.push_back({ptx::Space::param, offset});
  }
}

void KernelBuilder::place_locals(Frame& frame, std::size_t first) {
  std::uint32_t& local = in_procedure() ? kernel_->procedures[procedure_].frame_bytes : kernel_->local_bytes;
  for (std::size_t i = first; i < frame.function->variables.size(); ++i) {
    const ptx::Variable& variable = frame.function->variables[i];
    switch (variable.space) {
      case ptx::Space::local:
      case ptx::Space::param:  // Of a call in this function: a thread's own, like a local variable.
        frame.variables.push_back({ptx::Space::local, allocate(local, variable), in_procedure()});
        break;
      case ptx::Space::shared:
        frame.variables.push_back({ptx::Space::shared, kReservedSmemBytes + function_shared_.at(&variable)});
        break;
      default:
        throw LoadError("variable " + quoted(variable.name) + ": its state space is not supported inside a function");
    }
  }
}

KernelBuilder::VariablePlace KernelBuilder::place_of(const ptx::Operand& variable) {
  if (!variable.of_module) return frames_.back().variables[variable.index];
  const ptx::Variable& declared = module_.variables[variable.index];
  if (declared.space == ptx::Space::shared) {
    return {ptx::Space::shared, kReservedSmemBytes + std::uint64_t{shared_variables_.at(variable.index)}};
  }
  if (declared.space != ptx::Space::global && declared.space != ptx::Space::constant) {
    throw LoadError("variable " + quoted(declared.name) + ": its state space is not supported");
  }
  return {declared.space, layout_.address[variable.index]};
}

std::uint64_t KernelBuilder::bytes_of(const ptx::Operand& variable) const {
  return (variable.of_module ? module_.variables : frames_.back().function->variables)[variable.index].bytes;
}

// ---- Registers

ptx::Type KernelBuilder::type_of(std::uint32_t function_register) const {
  return frames_.back().function->registers[function_register].type;
}

std::uint32_t KernelBuilder::register_of(std::uint32_t function_register) {
  std::uint32_t& number = frames_.back().registers[function_register];
  if (number == kNowhere) number = new_register(ptx::bits_of(type_of(function_register)) >= 64 ? 2 : 1);
  return number;
}

std::uint32_t KernelBuilder::upper_half_of(std::uint32_t function_register) {
  const auto [found, fresh] = frames_.back().upper_halves.try_emplace(function_register, 0);
  if (fresh) found->second = new_register(2);
  return found->second;
}

std::uint32_t KernelBuilder::predicate_of(std::uint32_t function_register) {
  if (type_of(function_register) != ptx::Type::pred) throw LoadError("a guard is not a predicate");
  std::uint32_t& number = frames_.back().registers[function_register];
  if (number == kNowhere) number = new_predicate();
  return number;
}

std::uint32_t KernelBuilder::carry() {
  std::uint32_t& number = frames_.back().carry;
  if (number == kNowhere) number = new_register(1);
  return number;
}

std::uint32_t KernelBuilder::new_register(std::uint8_t rows) {
  rows_of_.push_back(rows);
  return static_cast<std::uint32_t>(rows_of_.size() - 1);
}

std::uint32_t KernelBuilder::special(Special special) {
  const auto [found, fresh] = specials_.try_emplace(special, 0);
  if (fresh) {
    found->second = new_register(1);
    pinned_.push_back(found->second);
  }
  return found->second;
}

Place KernelBuilder::constant(std::uint64_t bits, bool wide) {
  const auto [found, fresh] = constants_.try_emplace({bits, wide}, 0);
  if (fresh) {
    found->second = kConstantBit | static_cast<Place>(kernel_->constants.size());
    for (int lane = 0; lane < 32; ++lane) {
      kernel_->constants.push_back(static_cast<std::uint32_t>(bits));
      if (wide) kernel_->constants.push_back(static_cast<std::uint32_t>(bits >> 32));
    }
  }
  return found->second;
}

std::uint32_t KernelBuilder::opcode_number(std::string opcode) {
  const auto [found, fresh] =
      opcodes_.try_emplace(std::move(opcode), static_cast<std::uint32_t>(kernel_->opcodes.size()));
  if (fresh) kernel_->opcodes.push_back(found->first);
  return found->second;
}

// ---- Instructions

void KernelBuilder::add(Draft draft, const std::vector<Use>& uses) {
  if (drafts_.size() >= kMaxInstructions) throw LoadError("the kernel is too large");
  const auto index = static_cast<std::uint32_t>(drafts_.size());
  for (const std::uint32_t label : waiting_labels_) frames_.back().label_fixups.emplace_back(index, label);
  waiting_labels_.clear();
  if (waiting_return_) frames_.back().return_fixups.push_back(index);
  waiting_return_ = false;
  draft.first_use = static_cast<std::uint32_t>(uses_.size());
  draft.use_count = static_cast<std::uint32_t>(uses.size());
  uses_.insert(uses_.end(), uses.begin(), uses.end());
  drafts_.push_back(std::move(draft));
}

void KernelBuilder::decode_body() {
  const ptx::Function& function = *frames_.back().function;
  frames_.back().statement_start.reserve(function.body.size());
  for (const ptx::Statement& statement : function.body) {
    frames_.back().statement_start.push_back(static_cast<std::uint32_t>(drafts_.size()));
    decode_statement_(*this, statement);
  }
}

/// Resolves the branches of the innermost function, whose end is instruction `end`.
void KernelBuilder::close_frame(std::uint32_t end) {
  const Frame& frame = frames_.back();
  const auto position = [&](std::uint32_t label) {
    const std::uint32_t statement = frame.function->labels[label];
    return statement < frame.statement_start.size() ? frame.statement_start[statement] : end;
  };
  for (const auto& [draft, label] : frame.label_fixups) drafts_[draft].flow.targets.push_back(position(label));
  for (const std::uint32_t draft : frame.return_fixups) drafts_[draft].flow.targets.push_back(end);
  frames_.pop_back();
}

void KernelBuilder::branch_to(const ptx::Operand& label) {
  waiting_labels_.push_back(label.index);
}

void KernelBuilder::branch_table(const ptx::Operand& table) {
  const auto found = frames_.back().function->branch_tables.find(table.index);
  if (found == frames_.back().function->branch_tables.end()) throw LoadError("brx.idx without its .branchtargets");
  waiting_labels_.insert(waiting_labels_.end(), found->second.begin(), found->second.end());
}

void KernelBuilder::jump_to_return() {
  waiting_return_ = true;
}

void KernelBuilder::inline_call(const ptx::Function& callee, const ptx::Operand* results,
                                const ptx::Operand* arguments) {
  ++inlined_;
  Frame frame;
  frame.function = &callee;
  frame.registers.assign(callee.registers.size(), kNowhere);
  for (const ptx::Operand* given : {results, arguments}) {
    if (given == nullptr) continue;
    for (const ptx::Operand& argument : given->elements)
      frame.variables.push_back(frames_.back().variables[argument.index]);
  }
  place_locals(frame, callee.result_count + callee.parameter_count);
  frames_.push_back(std::move(frame));
  decode_body();
  close_frame(static_cast<std::uint32_t>(drafts_.size()));
}

// ---- Completion

/// Puts an instruction before each place where divided lanes meet, and sets the place in each branch that divides.
void KernelBuilder::insert_reconvergence_points() {
  std::vector<Flow> flows;
  flows.reserve(drafts_.size());
  for (const Draft& draft : drafts_) flows.push_back(draft.flow);
  const std::vector<BasicBlock> blocks = basic_blocks(flows);
  const std::vector<std::int32_t> meets = immediate_post_dominators(blocks, flows);
  std::vector<std::uint32_t> meeting_point(drafts_.size(), kNowhere);
  std::vector<char> is_point(drafts_.size(), 0);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Flow& flow = flows[blocks[b].last];
    const bool divides = flow.kind == Flow::Kind::branch || (flow.kind == Flow::Kind::jump && flow.targets.size() > 1);
    if (!divides || meets[b] < 0) continue;
    meeting_point[blocks[b].last] = blocks[static_cast<std::size_t>(meets[b])].first;
    is_point[meeting_point[blocks[b].last]] = 1;
  }
  std::vector<std::uint32_t> moved(drafts_.size());
  std::vector<Draft> result;
  result.reserve(drafts_.size() + drafts_.size() / 8);
  for (std::size_t i = 0; i < drafts_.size(); ++i) {
    moved[i] = static_cast<std::uint32_t>(result.size());
    if (is_point[i] != 0) {
      Draft point;
      point.instruction.execute = execute_reconverge;
      point.line = drafts_[i].line;
      point.ptx_line = drafts_[i].ptx_line;
      point.opcode = opcode_number("(reconvergence)");
      result.push_back(std::move(point));
    }
    result.push_back(std::move(drafts_[i]));
    if (result.back().flow.kind != Flow::Kind::next) result.back().instruction.aux1 = meeting_point[i];
  }
  moved.push_back(static_cast<std::uint32_t>(result.size()));
  for (Procedure& procedure : kernel_->procedures) {
    procedure.entry = moved[procedure.entry];
    procedure.end = moved[procedure.end];
  }
  drafts_ = std::move(result);
  for (Draft& draft : drafts_) {
    if (draft.flow.kind == Flow::Kind::next) continue;
    for (std::uint32_t& target : draft.flow.targets) target = moved[target];
    if (draft.instruction.aux1 != kNowhere) draft.instruction.aux1 = moved[draft.instruction.aux1];
    if (draft.flow.targets.size() == 1) draft.instruction.aux0 = draft.flow.targets[0];
    if (draft.flow.targets.size() > 1) {
      draft.instruction.aux0 = static_cast<std::uint32_t>(kernel_->tables.size());
      draft.instruction.immediate = static_cast<std::int64_t>(draft.flow.targets.size());
      kernel_->tables.insert(kernel_->tables.end(), draft.flow.targets.begin(), draft.flow.targets.end());
    }
  }
}

void KernelBuilder::write_code() {
  std::vector<Flow> flows;
  std::vector<RegisterUse> register_uses;
  register_uses.reserve(uses_.size());
  for (const Draft& draft : drafts_) {
    flows.push_back(draft.flow);
    const bool partial = draft.instruction.guard != 0;
    for (std::uint32_t u = draft.first_use; u < draft.first_use + draft.use_count; ++u) {
      register_uses.push_back({uses_[u].reg, uses_[u].write, partial && uses_[u].write});
    }
  }
  std::vector<std::span<const RegisterUse>> uses_of;
  std::size_t at = 0;
  for (const Draft& draft : drafts_) {
    uses_of.emplace_back(register_uses.data() + at, draft.use_count);
    at += draft.use_count;
  }
  RowAllocation allocation = allocate_rows(basic_blocks(flows), uses_of, rows_of_, pinned_);
  kernel_->rows = allocation.rows;
  first_row_ = std::move(allocation.first_row);

  for (Draft& draft : drafts_) {
    for (std::uint32_t u = draft.first_use; u < draft.first_use + draft.use_count; ++u) {
      const Place place = first_row_[uses_[u].reg] * kRowWords;
      (uses_[u].in_list ? kernel_->places[uses_[u].slot] : draft.instruction.op[uses_[u].slot]) = place;
    }
    kernel_->code.push_back(draft.instruction);
    kernel_->lines.push_back(draft.line);
    kernel_->ptx_lines.push_back(draft.ptx_line);
    kernel_->opcode_of.push_back(draft.opcode);
  }
  for (const auto& [special, reg] : specials_) kernel_->specials.push_back({special, first_row_[reg] * kRowWords});
}

/// The fate of each instruction in machine code. Predicates are numbered after the registers.
std::vector<Fate> KernelBuilder::fates() const {
  std::vector<Flow> flows;
  for (const Draft& draft : drafts_) flows.push_back(draft.flow);
  const std::vector<BasicBlock> blocks = basic_blocks(flows);
  std::vector<PtxInstruction> instructions(drafts_.size());
  const auto registers = static_cast<std::uint32_t>(rows_of_.size());
  for (std::uint32_t block = 0; block < blocks.size(); ++block) {
    for (std::uint32_t i = blocks[block].first; i <= blocks[block].last; ++i) instructions[i].block = block;
  }
  for (std::size_t i = 0; i < drafts_.size(); ++i) {
    const Draft& draft = drafts_[i];
    PtxInstruction& in = instructions[i];
    in.opcode = kernel_->opcodes[draft.opcode];
    in.op_class = draft.op_class;
    in.guarded = draft.instruction.guard != 0;
    for (std::uint32_t u = draft.first_use; u < draft.first_use + draft.use_count; ++u)
      (uses_[u].write ? in.writes : in.reads).push_back(uses_[u].reg);
    for (const std::uint32_t p : draft.predicate_reads) in.reads.push_back(registers + p);
    for (const std::uint32_t p : draft.predicate_writes) in.writes.push_back(registers + p);
    for (const Place place : draft.instruction.op) {
      // Some operations keep other numbers there.
      const Place row = place & ~kConstantBit;
      if (place != row && row < kernel_->constants.size()) in.constant = kernel_->constants[row];
    }
  }
  return fates_of(instructions, registers + kernel_->predicates);
}

void KernelBuilder::write_trace() {
  const std::vector<Fate> fates = this->fates();
  TraceTable& trace = kernel_->trace;
  // Numbers of PTX registers, not of the interpreter's rows: sharing a row is no dependence.
  std::vector<std::uint32_t> first_number;
  std::uint32_t numbers = 0;
  for (const std::uint8_t rows : rows_of_) {
    first_number.push_back(numbers);
    numbers += rows;
  }
  trace.register_count = std::min(numbers + kernel_->predicates, 0x10000u);
  std::vector<std::pair<std::size_t, std::size_t>> sizes;  // Reads, writes.
  const auto append = [&](std::uint32_t number) {
    trace.registers.push_back(static_cast<std::uint16_t>(std::min(number, 0xffffu)));
  };
  for (const Draft& draft : drafts_) {
    std::size_t counts[2] = {0, 0};
    for (const bool write : {false, true}) {
      const std::size_t before = trace.registers.size();
      for (std::uint32_t u = draft.first_use; u < draft.first_use + draft.use_count; ++u) {
        if (uses_[u].write != write) continue;
        for (std::uint32_t row = 0; row < rows_of_[uses_[u].reg]; ++row) append(first_number[uses_[u].reg] + row);
      }
      for (const std::uint32_t p : write ? draft.predicate_writes : draft.predicate_reads) append(numbers + p);
      counts[write ? 1 : 0] = trace.registers.size() - before;
    }
    sizes.emplace_back(counts[0], counts[1]);
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < drafts_.size(); ++i) {
    const Draft& draft = drafts_[i];
    TracedInstruction traced;
    traced.op_class = fates[i] == Fate::folded ? OpClass::nothing : draft.op_class;
    traced.count = draft.count;
    traced.once = fates[i] == Fate::once;
    traced.first_in_registers = draft.op_class == OpClass::warpgroup_product && draft.instruction.aux0 == 1;
    traced.index = static_cast<std::uint32_t>(i);
    traced.line = draft.line;
    traced.reads = {trace.registers.data() + at, sizes[i].first};
    traced.writes = {trace.registers.data() + at + sizes[i].first, sizes[i].second};
    at += sizes[i].first + sizes[i].second;
    traced.mma = draft.mma;
    traced.pending_groups = draft.pending_groups;
    trace.traced.push_back(traced);
  }
}

/// Registers of products and, because the compiler moves them about, those that they are moved to.
void KernelBuilder::write_product_registers() {
  ProductRegisters& products = kernel_->product_registers;
  if (kernel_->warpgroup_forms.empty()) return;
  std::vector<std::uint32_t> number(rows_of_.size(), kNowhere);  // Of accumulators, then of the others too.
  const auto uses_of = [&](const Draft& draft) { return std::span(uses_).subspan(draft.first_use, draft.use_count); };
  const auto watch = [&](const Draft& draft) {
    bool any = false;
    for (const Use& use : uses_of(draft)) {
      if (!use.write || number[use.reg] != kNowhere) continue;
      number[use.reg] = products.count++;
      any = true;
    }
    return any;
  };
  const auto reads_watched = [&](const Draft& draft) {
    return std::ranges::any_of(uses_of(draft),
                               [&](const Use& use) { return !use.write && number[use.reg] != kNowhere; });
  };
  for (const Draft& draft : drafts_)
    if (draft.op_class == OpClass::warpgroup_product) watch(draft);
  for (bool again = true; again;) {
    again = false;
    for (const Draft& draft : drafts_)
      if (draft.op_class == OpClass::nothing && reads_watched(draft)) again |= watch(draft);
  }
  for (const Draft& draft : drafts_)
    if (draft.op_class == OpClass::warpgroup_product)
      for (const Use& use : uses_of(draft))
        if (use.in_list && number[use.reg] == kNowhere) number[use.reg] = products.count++;
  for (const Draft& draft : drafts_) {
    products.first_use.push_back(static_cast<std::uint32_t>(products.uses.size()));
    for (const Use& use : uses_of(draft))
      if (number[use.reg] != kNowhere) products.uses.push_back({number[use.reg], use.write});
  }
  products.first_use.push_back(static_cast<std::uint32_t>(products.uses.size()));
}

}  // namespace evo::vgpu
