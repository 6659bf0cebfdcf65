#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace evo {

/// What ptxas -v says of a program. Maxima over its entry functions: the worst one limits the candidate.
struct PtxasUsage {
  int entries = 0;
  int registers = 0;
  int spill_bytes = 0;  ///< Stores and loads together.
  int stack_bytes = 0;
  int static_smem_bytes = 0;
};

/// Reads the resource lines of a compiler log; zeros where ptxas said nothing.
PtxasUsage parse_ptxas_usage(std::string_view log);

/// The log without lines that differ from one compilation of the same source to the next ("Compile time = 2.8
/// ms").
std::string repeatable_log(std::string_view log);

/// The first line that reports an error ("kernel.cu(12): error: ..."), else the first line, else a phrase
/// that says that the log is empty.
std::string first_error(std::string_view log);

/// The first ptxas message after which the kernel runs, but as a shadow of what was asked for: wgmma
/// serialised, setmaxnreg ignored ("Potential Performance Loss", C7508 to C7516). Empty when there is none.
std::optional<std::string> performance_warning(std::string_view log);

}  // namespace evo
