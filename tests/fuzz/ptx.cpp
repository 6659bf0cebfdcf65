// Any text is a PTX module or a LoadError; each kernel that loads runs, plainly and watched, to an end or to
// a failure.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "evaluator/vgpu/loaded_module.h"
#include "evaluator/vgpu/machine/block_scheduler.h"
#include "evaluator/vgpu/numbers/tensor_map.h"
#include "evaluator/vgpu/ptx/load_error.h"
#include "evaluator/vgpu/ptx/parser.h"
#include "evaluator/vgpu/sanitiser/sanitiser.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace evo;
using namespace evo::vgpu;

constexpr std::size_t kBufferBytes = 4096;
// Modules with large variables are valid but slow, so they are left out here.
constexpr std::uint64_t kMostVariableBytes = 1u << 16;

bool is_modest(const std::string& text) {
  const auto module = ptx::parse(text);
  std::uint64_t bytes = 0;
  for (const ptx::Variable& variable : module->variables) bytes += variable.bytes;
  for (const ptx::Function& function : module->functions)
    for (const ptx::Variable& variable : function.variables) bytes += variable.bytes;
  return bytes <= kMostVariableBytes;
}

/// Pointers to the first buffers, a tensor map over the first one, small numbers.
std::vector<std::byte> arguments_of(const Kernel& kernel, const std::vector<std::uint64_t>& buffers) {
  std::vector<std::byte> bytes(kernel.parameter_bytes);
  std::size_t pointers = 0;
  for (const KernelParameter& parameter : kernel.parameters) {
    const auto put = [&](const auto& value) { std::memcpy(bytes.data() + parameter.offset, &value, sizeof value); };
    if (parameter.bytes == 8) put(buffers[pointers++ % buffers.size()]);
    if (parameter.bytes == 4) put(std::uint32_t{3});
    if (parameter.bytes == kTensorMapBytes) {
      TensorMapObject map;
      map.address = buffers[0];
      map.stride_bytes = {64};
      map.last = {15, 31};
      map.box = {16, 4};
      map.element_stride = {1, 1, 1, 1, 1};
      map.rank = 2;
      map.element = TensorElement::u32;
      put(map);
    }
  }
  return bytes;
}

void run(const Kernel& kernel, GlobalMemory& memory, const std::vector<std::uint64_t>& buffers, Sanitiser* sanitiser) {
  vgpu::Launch launch;
  launch.kernel = &kernel;
  launch.memory = &memory;
  launch.grid = {2, 1, 1};
  launch.block = {kernel.warpgroup_forms.empty() ? 64u : 128u, 1, 1};
  if (sanitiser != nullptr) launch.cluster = {2, 1, 1};
  launch.dynamic_smem_bytes = 1024;
  launch.registers_per_thread = 64;
  launch.numerics = tensor_core_numerics(90);
  launch.sm_count = 2;
  launch.resident_blocks = 2;
  launch.budget = {.warp_instructions = 500, .launch_instructions = 3000};
  launch.parameters = arguments_of(kernel, buffers);
  launch.observer = sanitiser;
  if (sanitiser != nullptr) sanitiser->begin_launch(launch);
  run_blocks(launch);
  if (sanitiser != nullptr) sanitiser->end_launch(launch);
}

void use(const std::string& text) {
  if (!is_modest(text)) return;
  GlobalMemory memory;
  std::vector<std::uint64_t> buffers;
  for (const char* name : {"a", "b", "c"}) buffers.push_back(memory.allocate(kBufferBytes, name));
  const LoadedModule module(memory, text, Build{});
  Sanitiser sanitiser;
  for (const std::string& name : module.kernel_names()) {
    try {
      const Kernel& kernel = *module.kernel(name);
      run(kernel, memory, buffers, nullptr);
      run(kernel, memory, buffers, &sanitiser);
    } catch (const LoadError&) {
      // Other kernels of the module may run.
    }
  }
}

}  // namespace

EVO_FUZZ_TARGET(ptx) {
  try {
    use(text);
  } catch (const LoadError&) {
    // A module that cannot be loaded.
  }
}
