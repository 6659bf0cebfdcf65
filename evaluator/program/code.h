#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "evaluator/program/machine.h"

/// Modules of the driver, libraries of the driver and fat binaries of the runtime: code that the program brings.
namespace evo::program {

class LoadedCode;

/// What a launch of some shape took when it was modelled. Others of the shape take as much for each instruction.
struct ModelledShape {
  double us = 0;
  std::uint64_t warp_instructions = 0;  ///< 0: none was modelled.
};

/// A kernel of loaded code. CUfunction, CUkernel, cudaFunction_t and cudaKernel_t point to it.
struct Function {
  LoadedCode* code = nullptr;
  std::string name;  ///< In PTX.
  vgpu::KernelFacts facts;
  int dynamic_smem_limit = 0;  ///< Bytes that a launch may ask for.
  int carve_out = -1;
  bool non_portable_cluster = false;
  int most_threads() const;
  /// Throws Refusal for more bytes than a block can have.
  void ask_for_smem(int bytes);
  std::map<std::tuple<Dim3, Dim3, Dim3, std::uint32_t>, ModelledShape> modelled;  ///< By grid, block, cluster, memory.
};

class LoadedCode {
 public:
  /// From what lies at `image` (fatbin.h). Throws Refusal, and says why, where it has no PTX that the virtual GPU runs.
  explicit LoadedCode(const void* image);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  /// Null: there is none of that name. Throws Refusal, and says why, for one that cannot run.
  Function* function(const std::string& name);
  std::vector<Function*> functions();
  struct Variable {
    Address address = 0;
    std::size_t bytes = 0;
  };
  /// Null: there is none of that name.
  const Variable* variable(const std::string& name) const;
  const Module& module() const { return *module_; }

 private:
  std::unique_ptr<Module> module_;
  std::map<std::string, std::unique_ptr<Function>> functions_;
  std::map<std::string, Variable> variables_;
};

/// Whether code that is still loaded has this kernel: handles come from outside.
bool is_function(const void* handle);

}  // namespace evo::program
