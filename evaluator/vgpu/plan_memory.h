#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "evaluator/device/device.h"
#include "evaluator/vgpu/loaded_module.h"
#include "evaluator/vgpu/machine/kernel.h"
#include "evaluator/vgpu/machine/memory.h"

/// What the launches of a plan are given: their sizes, and the memory that they read and write.
namespace evo::vgpu {

/// Blocks of a grid, threads of a block.
inline std::uint64_t volume(const Dim3& dims) {
  return std::uint64_t{dims[0]} * dims[1] * dims[2];
}

/// Of an argument that is a tensor or a workspace.
DeviceAddress address_of(const Argument& argument, const Buffers& buffers);

/// Writes the values of a launch's arguments where the kernel's parameters are. Fails where they do not fit each other.
std::optional<Failure> bind_arguments(const Kernel& kernel, const Plan& plan, const evo::Launch& planned,
                                      const Buffers& buffers, std::vector<std::byte>& parameters);

/// Distinct bytes that a launch can touch: the buffers that it is given, by pointer or tensor map.
std::int64_t footprint_of(const Plan& plan, const evo::Launch& planned);

/// The buffers of a call, while it lasts elsewhere than in the calls before: an address says nothing of these.
class CallBuffers {
 public:
  /// Null: nothing is moved.
  CallBuffers(GlobalMemory* memory, const Buffers& buffers);
  ~CallBuffers();
  CallBuffers(const CallBuffers&) = delete;
  CallBuffers& operator=(const CallBuffers&) = delete;

  const Buffers& addresses() const { return addresses_; }

 private:
  struct Move {
    std::uint64_t to = 0, by = 0;
  };
  GlobalMemory* memory_ = nullptr;
  Buffers addresses_;
  std::vector<Move> moves_;
};

/// What a plan may change, and its module's variables.
std::vector<DeviceRange> written_by(const LoadedModule& module, const Plan& plan, const Buffers& buffers);

/// From now on kernels may write the plan's own buffers and nothing else: what a call left elsewhere the next one could
/// find there.
void open_only(GlobalMemory& memory, const LoadedModule& module, const Plan& plan, const Buffers& buffers);

/// A number that the plan's inputs decide, all of their bytes. The same inputs give the same.
std::uint64_t salt_of(const GlobalMemory& memory, const Plan& plan, const Buffers& buffers);

}  // namespace evo::vgpu
