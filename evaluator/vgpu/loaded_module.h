#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "evaluator/device/device.h"
#include "evaluator/vgpu/decode/decoder.h"
#include "evaluator/vgpu/machine/memory.h"

namespace evo::vgpu {

/// A PTX module with its kernels decoded and its variables in global memory, which it gives back at its end.
class LoadedModule : public Module {
 public:
  /// Throws LoadError for what the virtual GPU cannot load: malformed PTX, or no kernel that can be decoded.
  LoadedModule(GlobalMemory& memory, std::string ptx, Build build, const DecodeOptions& options = {});
  ~LoadedModule() override;
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  /// Null when there is none of that name. Throws LoadError for a kernel that the virtual GPU cannot run.
  const Kernel* kernel(std::string_view name) const;
  std::vector<std::string> kernel_names() const;  ///< Sorted.
  /// A variable in global or constant memory.
  struct NamedVariable {
    std::string name;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  const std::vector<NamedVariable>& variables() const { return variables_; }
  /// By its name in PTX. Null when there is none.
  const NamedVariable* variable(std::string_view name) const;
  const Build& build() const { return build_; }
  const std::string& target() const { return target_; }  ///< "sm_90a"

 private:
  void place_variables(const ptx::Module& module);
  void initialise(const ptx::Module& module, const ptx::Variable& variable, std::uint64_t address);

  GlobalMemory* memory_;
  Build build_;
  std::string target_;
  ModuleLayout layout_;
  std::vector<std::uint64_t> owned_;
  std::vector<NamedVariable> variables_;
  std::unordered_map<std::string, std::unique_ptr<Kernel>> kernels_;
  std::map<std::string, std::string, std::less<>> refused_;  ///< Kernels that cannot be decoded: why.
};

}  // namespace evo::vgpu
