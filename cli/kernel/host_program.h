#pragma once

#include <string>
#include <vector>

#include "cli/kernel/kernel_run.h"

namespace CLI {
class App;
}

namespace evo::cli {

/// A CUDA program that runs on the virtual GPU as it is.
struct HostProgramRequest {
  std::string program;                 ///< Empty: none was asked for.
  std::vector<std::string> arguments;  ///< The program's.
  std::string device;                  ///< "vgpu:h100"
  std::string max_instructions;        ///< Empty: the default.
  bool sanitised = false;
  bool strict = false;
  bool json = false;
};

/// Adds --program. What follows the program on the command line is the program's (Invocation::behind_program).
void add_program_option(CLI::App& command, std::string& program);

/// Whether a program was asked for; fills its request then. Throws usage_error for options that a program does not
/// take, and where neither a program nor a file was named.
bool take_program(HostProgramRequest& request, const KernelRequest& kernels, const CLI::App& command,
                  const std::vector<std::string>& behind);

/// Runs it with a driver and a runtime of ours in front of those of the machine, and says on standard error what it
/// did; on standard output with `json`, and what the program prints there goes to standard error. Returns the exit
/// code: 1 where a kernel failed or has findings, else the program's own.
int run_host_program(const HostProgramRequest& request);

}  // namespace evo::cli
