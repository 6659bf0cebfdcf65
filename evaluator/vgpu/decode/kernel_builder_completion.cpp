#include <algorithm>
#include <span>

#include "evaluator/vgpu/decode/kernel_builder.h"
#include "evaluator/vgpu/decode/row_allocation.h"
#include "evaluator/vgpu/machine/control_transfer.h"

// From the list of instructions to the kernel: where lanes meet again, rows of registers, what the cost model reads.
namespace evo::vgpu {

std::vector<Flow> KernelBuilder::flows() const {
  std::vector<Flow> flows;
  flows.reserve(drafts_.size());
  for (const Draft& draft : drafts_) flows.push_back(draft.flow);
  return flows;
}

/// Puts an instruction before each place where divided lanes meet, and sets the place in each branch that divides.
void KernelBuilder::insert_reconvergence_points() {
  const std::vector<Flow> flows = this->flows();
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
  std::vector<RegisterUse> register_uses;
  register_uses.reserve(uses_.size());
  for (const Draft& draft : drafts_) {
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
  RowAllocation allocation = allocate_rows(basic_blocks(flows()), uses_of, rows_of_, pinned_);
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
  const std::vector<Flow> flows = this->flows();
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
    traced.strong = is_strong(draft);
    traced.polls = draft.polls;
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
  const auto begins = [](const Draft& draft) {
    return draft.op_class == OpClass::warpgroup_product || draft.op_class == OpClass::tensor_load;
  };
  if (std::ranges::none_of(drafts_, begins)) return;
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
    if (begins(draft)) watch(draft);
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
