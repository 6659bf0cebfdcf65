#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evo {

/// What a list of nvcc's options asks for.
struct CompileOptions {
  std::vector<std::string> kept;  ///< Those that change the kernel, as NVRTC and nvcc both take them.
  std::string max_registers;      ///< Of -maxrregcount; empty: none.
  std::vector<std::pair<std::string, std::string>> macros;  ///< -DNAME=VALUE
};

/// Reads the options. Those that change nothing here (-O3, -lineinfo, -arch, -I, warnings) are left out. A "${...}"
/// stands for an option that is known later. Throws usage_error that names an option and what there is.
CompileOptions read_compile_options(const std::vector<std::string>& options);

/// How a source's line begins that says how it is compiled.
inline constexpr std::string_view kCompileOptions = "// evo: compile with ";

/// The line that says in a source how it is compiled: "// evo: compile with -use_fast_math"; empty without options.
std::string compile_options_line(const std::vector<std::string>& kept);

/// The options that lines of the source ask for. Throws as read_compile_options does; macros and registers are refused.
std::vector<std::string> compile_options_in(std::string_view source);

}  // namespace evo
