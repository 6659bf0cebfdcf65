#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/kernel_values.h"
#include "cli/text/terminal.h"
#include "evaluator/device/device.h"
#include "evaluator/vgpu/virtual_device.h"

/// What `evo vgpu` tells of kernels that it ran.
namespace evo::cli {

struct BufferResult {
  BufferSpec spec;
  std::vector<std::byte> before;
  std::vector<std::byte> after;
};

struct LaunchResult {
  std::string kernel;  ///< As people write it: demangled.
  Launch launch;
  std::vector<std::string> arguments;
  vgpu::KernelRun run;
  std::optional<Failure> failure;
};

struct VgpuRun {
  std::string file;
  DeviceInfo device;
  std::string arch;
  Build build;                         ///< Without figures for a .ptx file.
  bool compiled = false;               ///< From CUDA C++.
  std::vector<LaunchResult> launches;  ///< Up to the one that failed.
  std::vector<BufferResult> buffers;
  std::vector<vgpu::Finding> findings;  ///< Of the sanitiser, where it was asked.
  std::size_t shown_values = 8;         ///< First values of each buffer.
};

/// True when every launch ended without a finding.
bool succeeded(const VgpuRun& run);

/// With `explained`, tables of where the modelled time goes.
std::string vgpu_text(const VgpuRun& run, const Terminal& terminal, bool explained);
std::string vgpu_json(const VgpuRun& run);

}  // namespace evo::cli
