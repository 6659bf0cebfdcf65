#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluator/device/device.h"
#include "evaluator/vgpu/cost/cost_model.h"
#include "evaluator/vgpu/launch_limits.h"
#include "evaluator/vgpu/machine/finding.h"
#include "evaluator/vgpu/textures/object_table.h"

namespace evo::vgpu {

/// The models' names: h200 (the default), h100, a100, rtx5090 and so on.
std::vector<std::string> model_names();

/// The properties of a model, without making a device. Throws usage_error for an unknown name, listing the names.
DeviceInfo model_info(std::string_view model);

/// The results of one launch, apart from memory.
struct KernelRun {
  bool modelled = true;  ///< Whether the cost is wanted.
  std::string printed;   ///< By printf.
  std::uint64_t warp_instructions = 0;
  LaunchCost cost;  ///< Modelled, with warm caches.
};

/// What a virtual GPU can do beyond a Device: run any kernel, with arguments that no plan describes.
class VirtualGpu : public Device {
 public:
  /// The kernels of a module, sorted.
  virtual std::vector<std::string> kernels(const Module& module) const = 0;
  /// Nothing for a kernel that is missing or cannot be run.
  virtual std::optional<std::vector<DeclaredParameter>> parameters(const Module& module,
                                                                   const std::string& kernel) const = 0;
  /// Nothing, likewise; `refused` says why it cannot be run.
  virtual std::optional<KernelFacts> facts(const Module& module, const std::string& kernel,
                                           std::string& refused) const = 0;
  // For a host in this process whose memory kernels share:
  /// At first: buffers are at this address and behind it, where the host has nothing.
  virtual void share_with_host(DeviceAddress begin) = 0;
  /// Zeros that the host reaches at the same address. free() ends them.
  virtual DeviceAddress allocate_shared(std::size_t bytes, const std::string& name) = 0;
  /// Memory of the host that kernels may reach at its address, until free().
  virtual void share(std::span<std::byte> host, const std::string& name) = 0;
  /// Textures and surfaces, which kernels name by handles.
  virtual ObjectTable& objects() = 0;
  /// Memory that the host may write and read as it does buffers.
  virtual std::vector<DeclaredVariable> variables(const Module& module) const = 0;
  /// From now on a launch fails once a warp has executed more instructions.
  virtual void limit_instructions(std::uint64_t of_a_warp) = 0;
  /// From now on a launch fails once all its warps together have executed more instructions.
  virtual void limit_launches(std::uint64_t instructions) = 0;
  /// From now on every launch is sanitised, and findings() has the errors. Memory that was written before counts as
  /// written.
  virtual void sanitise() = 0;
  virtual std::vector<Finding> findings(Strictness strictness = Strictness::usual) const = 0;
  /// Runs one kernel. `launch.arguments` is ignored; `arguments` holds the bytes of each. `run.printed` is complete up
  /// to the failure, if there is one.
  virtual std::optional<Failure> run_kernel(const Module& module, const evo::Launch& launch,
                                            std::span<const std::vector<std::byte>> arguments, KernelRun& run) = 0;
  /// Fills the variables of the module that the plan names, as `run` does.
  virtual std::optional<Failure> fill_constants(const Module& module, const Plan& plan, const Buffers& buffers) = 0;
  /// What one call of the plan would cost. Runs few blocks, unless blocks wait for each other: what is in the outputs
  /// and workspaces afterwards means nothing. The cost means nothing when `failure` is set.
  virtual PlanCost model(const Module& module, const Plan& plan, const Buffers& buffers, bool cold,
                         std::optional<Failure>& failure) = 0;
};

/// A virtual GPU: interprets PTX on the CPU, checks every access, models latency. Deterministic. `threads` of the CPU,
/// at most 8, run the blocks of a launch; results do not depend on it where blocks have no race. With an `address_salt`
/// nobody can foresee where buffers and variables are; without one they always are at the same places.
std::unique_ptr<VirtualGpu> make_device(std::string_view model, int threads = 1,
                                        std::optional<std::uint64_t> address_salt = std::nullopt);
/// The virtual GPU that `info` describes. Throws usage_error when it describes a device of another kind.
std::unique_ptr<VirtualGpu> make_device(const DeviceInfo& info, int threads = 1);

}  // namespace evo::vgpu
