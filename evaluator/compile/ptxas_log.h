#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// What ptxas -v reports for a program: maxima over its kernels.
struct PtxasUsage {
  int entries = 0;
  int registers = 0;
  int spill_bytes = 0;  ///< Stores and loads together.
  int stack_bytes = 0;
  int static_smem_bytes = 0;
};

/// Reads the resource lines of a compiler log; zeros where there are none.
PtxasUsage parse_ptxas_usage(std::string_view log);

/// What one kernel needs of an SM.
struct KernelResources {
  std::string kernel;
  int registers = 0;
  int static_smem_bytes = 0;
};

/// Reads the resource lines of each kernel, in the order of the log.
std::vector<KernelResources> kernel_resources(std::string_view log);

/// The log without lines that differ from one compilation of the same source to the next ("Compile time = 2.8
/// ms").
std::string repeatable_log(std::string_view log);

/// The first line that reports an error ("kernel.cu(12): error: ..."), else the first line; never empty.
std::string first_error(std::string_view log);

/// The first ptxas warning that costs a kernel its point, such as a serialised wgmma or an ignored setmaxnreg
/// ("Potential Performance Loss", C7508 to C7516). Empty when there is none.
std::optional<std::string> performance_warning(std::string_view log);

}  // namespace evo
