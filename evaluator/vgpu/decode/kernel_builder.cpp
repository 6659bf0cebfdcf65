#include "evaluator/vgpu/decode/kernel_builder.h"

#include "engine/base/demangled.h"
#include "evaluator/vgpu/machine/control_transfer.h"
#include "evaluator/vgpu/ptx/independence.h"
#include "evaluator/vgpu/ptx/load_error.h"
#include "evaluator/vgpu/ptx/reachable.h"

namespace evo::vgpu {
namespace {

constexpr std::size_t kMaxInstructions = 4'000'000;

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
  const std::set<const ptx::Function*> reachable = reachable_functions(module_, entry_);
  kernel_->independent_blocks = blocks_are_independent(reachable, module_);
  kernel_->shares_counters = blocks_share_counters(reachable);
  place_shared(reachable);

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
  mark_polls();
  write_code();
  write_procedures();
  write_trace();
  write_product_registers();
  return std::move(kernel_);
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
  if (fresh) found->second = new_constant(bits, wide);
  return found->second;
}

Place KernelBuilder::new_constant(std::uint64_t bits, bool wide) {
  const Place place = kConstantBit | static_cast<Place>(kernel_->constants.size());
  for (int lane = 0; lane < 32; ++lane) {
    kernel_->constants.push_back(static_cast<std::uint32_t>(bits));
    if (wide) kernel_->constants.push_back(static_cast<std::uint32_t>(bits >> 32));
  }
  return place;
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

}  // namespace evo::vgpu
