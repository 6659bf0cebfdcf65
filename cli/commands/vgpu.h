#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/kernel_values.h"
#include "cli/commands/vgpu_report.h"
#include "engine/task/plan.h"

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
  std::string device = "vgpu";
  std::string arch;
  std::vector<std::string> defines;
  std::vector<std::string> include_folders;
  std::vector<std::string> outputs;  ///< NAME=FILE
  std::string seed = "1";
  std::string shown_values = "8";
  std::int64_t further_launches = 0;  ///< Of --then; take_kernel_options() reads them.
  bool explained = false;
  bool json = false;
  bool sanitised = false;
};

/// Adds the options that describe launches. `request` must outlive the parser.
void add_kernel_options(CLI::App& command, KernelRequest& request);
/// Fills the launches from what was parsed, in the order typed: --then begins another.
void take_kernel_options(KernelRequest& request, const CLI::App& command);
/// How arguments are written, for the end of a help.
extern const char* const kArgumentsHelp;

/// Compiles and runs. Throws usage_error for what was given wrong, machine_error for a missing NVRTC.
VgpuRun run_kernels(const KernelRequest& request);

/// `evo vgpu FILE`: runs anybody's kernel on the virtual GPU.
void add_vgpu(CLI::App& app, Action& action);

}  // namespace evo::cli
