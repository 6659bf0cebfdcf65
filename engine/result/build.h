#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/record/record.h"

namespace evo {

/// What one kernel of a program takes, as ptxas reports it.
struct KernelBuild {
  int registers = 0;          ///< Of a thread.
  int spill_bytes = 0;        ///< Of a thread, stores and loads together, with those of the functions that it calls.
  int stack_bytes = 0;        ///< Of a thread, with the functions that it calls, each once.
  int static_smem_bytes = 0;  ///< Of a block.
  bool launched = false;      ///< Whether the candidate's plans launch it.
  bool cooperative = false;   ///< It may wait for the whole grid: all its blocks must be resident.
  std::string warning = {};   ///< Of ptxas, that the kernel loses performance; mostly empty.
};

EVO_RECORD(KernelBuild, registers, spill_bytes, stack_bytes, static_smem_bytes, launched, cooperative, warning);

/// One compiled program.
struct Build {
  std::string specialisation;  ///< "D=64".
  std::string arch;            ///< "sm_90a".
  std::string cubin_hash;
  double compile_ms = 0;
  std::string flags = {};  ///< The compiler's flags, separated by spaces; empty: unknown.
  std::string log = {};
  /// By their names in PTX. Old records know of all kernels together alone; that stands under the empty name.
  std::map<std::string, KernelBuild> kernels = {};
  /// What launches may call its kernels ("scale", "ns::scale", "reduce<float, 256>"), and their names in PTX.
  std::map<std::string, std::string> kernel_names = {};
  std::map<std::string, std::string> variables = {};  ///< The same of variables that plans fill ("ns::weights").

  /// A name that is not among `kernel_names` stands for itself.
  const std::string& ptx_name(const std::string& kernel) const { return name_in(kernel_names, kernel); }
  /// The same of `variables`.
  const std::string& variable_name(const std::string& symbol) const { return name_in(variables, symbol); }

  /// How launches call a kernel that has this name in PTX.
  const std::string& called(const std::string& ptx_name) const;

  /// What a kernel takes, by the name that launches call it. Zeros: unknown.
  const KernelBuild& kernel(const std::string& called) const;
  /// The most that any launched kernel takes of each.
  KernelBuild largest() const;

 private:
  static const std::string& name_in(const std::map<std::string, std::string>& names, const std::string& wanted) {
    const auto found = names.find(wanted);
    return found == names.end() ? wanted : found->second;
  }
};

/// The most that any launched kernel of all programs takes of each.
KernelBuild largest_of(const std::vector<Build>& builds);

EVO_RECORD(Build, specialisation, arch, cubin_hash, compile_ms, flags, log, kernels, kernel_names, variables);

}  // namespace evo
