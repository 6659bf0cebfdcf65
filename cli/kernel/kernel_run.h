#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/kernel/kernel_arguments.h"
#include "engine/task/plan.h"
#include "evaluator/device/device.h"
#include "evaluator/vgpu/virtual_device.h"

/// Kernels of a user's file, run on the virtual GPU.
namespace evo::cli {

/// One launch as it was typed.
struct LaunchRequest {
  std::string kernel;  ///< Empty: the only one of the file.
  Dim3 grid{1, 1, 1};
  Dim3 block{1, 1, 1};
  Dim3 cluster{1, 1, 1};
  std::uint32_t smem_bytes = 0;
  std::vector<ArgumentSpec> arguments;
};

/// Launches of the kernels in a file: what `evo vgpu` and `evo sanitize` take.
struct KernelRequest {
  std::string file;
  std::vector<LaunchRequest> launches{LaunchRequest{}};
  std::string device = std::string(vgpu::kKind);
  std::string arch;
  std::vector<std::string> defines;
  std::vector<std::string> include_folders;
  std::vector<std::string> nvrtc_options;
  std::vector<std::string> symbols;  ///< NAME=TYPE[N]:FILLING
  std::vector<std::string> outputs;  ///< NAME=FILE
  std::string max_instructions;      ///< Of a warp; empty: the usual limit.
  std::string seed = "1";
  std::string shown_values = "8";
  std::int64_t further_launches = 0;  ///< Of --then; take_kernel_options() reads them.
  bool explained = false;
  bool json = false;
  bool sanitised = false;
};

struct BufferResult {
  BufferSpec spec;
  std::vector<std::byte> before;
  std::vector<std::byte> after;
};

struct LaunchResult {
  std::string kernel;  ///< Demangled.
  Launch launch;
  std::vector<std::string> arguments;
  vgpu::KernelRun run;
  std::optional<Failure> failure;
};

/// The results of the launches.
struct KernelResults {
  std::string file;
  DeviceInfo device;
  std::string arch;
  Build build;                          ///< Empty for a .ptx file.
  bool compiled = false;                ///< From CUDA C++.
  std::vector<LaunchResult> launches;   ///< Up to the one that failed.
  std::vector<BufferResult> buffers;    ///< Symbols among them.
  std::vector<vgpu::Finding> findings;  ///< Of the sanitiser, if it was on: the weaker ones too.
  std::vector<std::uint32_t> removed;   ///< Without a finding: lines whose accesses are removed or merged.
  std::size_t shown_values = 8;         ///< First values of each buffer.
};

/// Whether no launch failed.
bool succeeded(const KernelResults& run);

/// Compiles the file and runs the launches. Throws usage_error for a wrong request and machine_error without NVRTC.
KernelResults run_kernels(const KernelRequest& request);

}  // namespace evo::cli
