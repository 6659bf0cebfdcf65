#include "evaluator/program/code.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/device/launch_rules.h"
#include "evaluator/program/cubin_facts.h"
#include "evaluator/program/fatbin.h"

namespace evo::program {
namespace {

std::set<const void*>& known_functions() {
  static auto& known = *new std::set<const void*>;
  return known;
}

/// The PTX for the newest architecture that the virtual GPU runs, and what the cubins tell of its kernels.
Binary binary_of(CodeImage image) {
  const int sm = machine().gpu().info().limits.sm;
  const FatbinEntry* best = nullptr;
  Binary binary;
  for (const FatbinEntry& entry : image.entries) {
    if (entry.ptx && entry.sm <= sm && (best == nullptr || entry.sm > best->sm)) best = &entry;
    if (!entry.ptx)
      for (auto& [name, build] : kernels_of_cubin(entry.data)) binary.build.kernels.try_emplace(name, build);
  }
  if (best == nullptr) {
    std::string others;
    for (const FatbinEntry& entry : image.entries)
      others += fmt::format("{}{}_{}", others.empty() ? "" : ", ", entry.ptx ? "compute" : "sm", entry.sm);
    say(
        fmt::format("the program has no PTX that {} runs (it has {}): compile it with -gencode "
                    "arch=compute_{},code=compute_{}",
                    machine().info().name, others.empty() ? "no code" : others, sm, sm));
    throw Refusal(Code::no_binary_for_gpu);
  }
  binary.ptx = best->data;
  return binary;
}

}  // namespace

int Function::most_threads() const {
  const std::uint64_t bound = std::uint64_t{facts.maximum_block[0]} * facts.maximum_block[1] * facts.maximum_block[2];
  int most = bound == 0 ? kMaxThreadsPerBlock : static_cast<int>(bound);
  while (most > kWarpSize && facts.registers * most > kRegistersPerBlock) most -= kWarpSize;
  return most;
}

void Function::ask_for_smem(int bytes) {
  const LaunchRules& rules = launch_rules(machine().info().limits.sm);
  require(bytes >= 0 && bytes + static_cast<int>(facts.static_smem_bytes) <= rules.smem_per_block_optin_bytes());
  dynamic_smem_limit = bytes;
}

LoadedCode::LoadedCode(const void* at) {
  CodeImage image = read_image(at);
  std::optional<Failure> failure;
  module_ = machine().gpu().load(binary_of(std::move(image)), failure);
  if (failure) {
    say("the program's code cannot be loaded: " + failure->reason);
    throw Refusal(failure->verdict == Verdict::unsupported ? Code::invalid_ptx : Code::no_binary_for_gpu);
  }
  for (const vgpu::DeclaredVariable& one : machine().gpu().variables(*module_))
    variables_[one.name] = {one.address, one.bytes};
}

LoadedCode::~LoadedCode() {
  for (const auto& [name, function] : functions_) known_functions().erase(function.get());
}

Function* LoadedCode::function(const std::string& name) {
  if (const auto found = functions_.find(name); found != functions_.end()) return found->second.get();
  const std::vector<std::string> names = machine().gpu().kernels(*module_);
  if (std::ranges::find(names, name) == names.end()) return nullptr;
  std::string refused;
  std::optional<vgpu::KernelFacts> facts = machine().gpu().facts(*module_, name, refused);
  if (!facts) {
    say(fmt::format("kernel {} cannot run: {}", name, refused));
    throw Refusal(Code::not_supported);
  }
  auto function = std::make_unique<Function>();
  function->code = this;
  function->name = name;
  function->facts = *std::move(facts);
  function->dynamic_smem_limit = std::max(0, kSmemPerBlockBytes - static_cast<int>(function->facts.static_smem_bytes));
  known_functions().insert(function.get());
  return (functions_[name] = std::move(function)).get();
}

std::vector<Function*> LoadedCode::functions() {
  std::vector<Function*> all;
  for (const std::string& name : machine().gpu().kernels(*module_)) all.push_back(function(name));
  return all;
}

const LoadedCode::Variable* LoadedCode::variable(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

bool is_function(const void* handle) {
  return known_functions().contains(handle);
}

}  // namespace evo::program
