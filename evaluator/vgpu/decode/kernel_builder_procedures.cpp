#include <algorithm>

#include "evaluator/vgpu/decode/kernel_builder.h"
#include "evaluator/vgpu/machine/control_transfer.h"
#include "evaluator/vgpu/ptx/load_error.h"
#include "evaluator/vgpu/ptx/reachable.h"

// Functions that get code of their own, and what their calls need (machine/procedure.h).
namespace evo::vgpu {
namespace {

constexpr std::size_t kMaxInlinedDepth = 24;
constexpr std::uint32_t kMaxInlinedCalls = 5'000;
constexpr std::uint32_t kMaxFrameBytes = kStackBytes;

std::string in_quotes(std::string_view name) {
  return "'" + std::string(name) + "'";
}

std::uint32_t aligned(std::uint32_t bytes) {
  return (bytes + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment;
}

}  // namespace

bool KernelBuilder::can_inline(const ptx::Function& callee) const {
  const bool recursive = std::ranges::any_of(frames_, [&](const Frame& frame) { return frame.function == &callee; });
  // What a function allocates on the stack goes with its frame.
  const bool allocates =
      std::ranges::any_of(callee.body, [](const ptx::Statement& statement) { return statement.parts[0] == "alloca"; });
  return !recursive && !allocates && frames_.size() < kMaxInlinedDepth && inlined_ < kMaxInlinedCalls;
}

std::uint32_t KernelBuilder::procedure_of(const ptx::Function& function) {
  const auto [found, fresh] = procedures_.try_emplace(&function, static_cast<std::uint32_t>(called_.size()));
  if (fresh) {
    called_.push_back(&function);
    kernel_->procedures.emplace_back().name = function.name;
  }
  return found->second;
}

CallSite KernelBuilder::call_site(const ptx::Function* callee, const ptx::Operand* results,
                                  const ptx::Operand* arguments) const {
  const std::string name = callee == nullptr ? "a function" : in_quotes(callee->name);
  const auto parts = [&](const ptx::Operand* given, std::size_t first, std::size_t count) {
    std::vector<FramePart> result;
    const std::size_t present = given == nullptr ? 0 : given->elements.size();
    if (callee != nullptr && present != count)
      throw LoadError("a call of " + name + " has the wrong number of arguments");
    for (std::size_t i = 0; i < present; ++i) {
      const ptx::Operand& argument = given->elements[i];
      const bool local = argument.kind == ptx::Operand::Kind::variable && !argument.of_module &&
                         frames_.back().variables[argument.index].space == ptx::Space::local;
      if (!local) throw LoadError("a call of " + name + " passes something else than a .param variable: not supported");
      const auto bytes = static_cast<std::uint32_t>(frames_.back().function->variables[argument.index].bytes);
      if (callee != nullptr && bytes < callee->variables[first + i].bytes)
        throw LoadError("a call of " + name + " passes too small a variable");
      result.push_back({static_cast<std::uint32_t>(frames_.back().variables[argument.index].address), bytes});
    }
    return result;
  };
  CallSite site;
  site.framed = in_procedure();
  site.results = parts(results, 0, callee == nullptr ? 0 : callee->result_count);
  site.arguments =
      parts(arguments, callee == nullptr ? 0 : callee->result_count, callee == nullptr ? 0 : callee->parameter_count);
  return site;
}

void KernelBuilder::make_procedures_of_pointers() {
  if (!kernel_->procedure_of_function.empty()) return;
  kernel_->procedure_of_function.assign(module_.functions.size(), kNowhere);
  for (const ptx::Function* function : address_taken(module_))
    kernel_->procedure_of_function[static_cast<std::size_t>(function - module_.functions.data())] =
        procedure_of(*function);
}

std::uint64_t KernelBuilder::address_of(std::string_view function) const {
  const auto found = module_.function_index.find(function);
  if (found == module_.function_index.end()) throw LoadError("unknown name " + in_quotes(function));
  return function_address(found->second);
}

/// Behind the entry's code. Each may call more.
void KernelBuilder::decode_procedures() {
  for (std::uint32_t i = 0; i < called_.size(); ++i) decode_procedure(i);
  if (!specials_.contains(Special::stack)) return;
  const std::uint32_t entry = aligned(kernel_->local_bytes);
  kernel_->local_bytes = entry + kStackBytes;
}

void KernelBuilder::decode_procedure(std::uint32_t number) {
  const ptx::Function& function = *called_[number];
  procedure_ = number;
  kernel_->procedures[number].entry = static_cast<std::uint32_t>(drafts_.size());
  Frame frame;
  frame.function = &function;
  frame.registers.assign(function.registers.size(), kNowhere);
  place_locals(frame, 0);
  Procedure& procedure = kernel_->procedures[number];
  for (std::size_t i = 0; i < function.result_count + function.parameter_count; ++i) {
    (i < function.result_count ? procedure.results : procedure.parameters)
        .push_back({static_cast<std::uint32_t>(frame.variables[i].address),
                    static_cast<std::uint32_t>(function.variables[i].bytes)});
  }
  frames_.push_back(std::move(frame));
  decode_body();
  Draft last;
  last.instruction.execute = execute_return;
  last.flow.kind = Flow::Kind::leave;
  last.op_class = OpClass::branch;
  last.opcode = opcode_number("ret");
  last.line = drafts_.back().line;
  last.ptx_line = drafts_.back().ptx_line;
  close_frame(static_cast<std::uint32_t>(drafts_.size()));
  add(std::move(last), {});
  // An empty frame would let a function call itself for ever.
  Procedure& done = kernel_->procedures[number];
  done.end = static_cast<std::uint32_t>(drafts_.size());
  done.frame_bytes = aligned(std::max(done.frame_bytes, 1u));
  if (done.frame_bytes > kMaxFrameBytes) throw LoadError("the frame of " + in_quotes(function.name) + " is too large");
  procedure_ = kNowhere;
}

/// What each procedure writes, once the rows are known.
void KernelBuilder::write_procedures() {
  if (specials_.contains(Special::stack)) kernel_->stack_place = first_row_[specials_.at(Special::stack)] * kRowWords;
  if (kernel_->procedures.empty()) return;
  kernel_->frame_place = first_row_[specials_.at(Special::frame)] * kRowWords;
  for (Procedure& procedure : kernel_->procedures) {
    std::set<std::pair<Place, bool>> registers;
    std::set<std::uint32_t> predicates;
    for (std::uint32_t i = procedure.entry; i < procedure.end; ++i) {
      const Draft& draft = drafts_[i];
      for (std::uint32_t u = draft.first_use; u < draft.first_use + draft.use_count; ++u)
        if (uses_[u].write) registers.insert({first_row_[uses_[u].reg] * kRowWords, rows_of_[uses_[u].reg] == 2});
      predicates.insert(draft.predicate_writes.begin(), draft.predicate_writes.end());
    }
    for (const auto& [place, wide] : registers) procedure.registers.push_back({place, wide});
    procedure.predicates.assign(predicates.begin(), predicates.end());
  }
}

}  // namespace evo::vgpu
