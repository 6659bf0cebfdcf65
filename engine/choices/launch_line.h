#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// How a plain kernel is launched, in one line:
///     saxpy<<<ceil_div(N, 256), 256>>>(y=inout float[N], x=float[N], float:0.5, N)
/// Extents and arguments are those of the ten lines (docs/templates.md). An extent of several axes is dim3(X, Y, Z).
struct LaunchLine {
  std::string kernel;              ///< "saxpy", "reduce<float, 256>"
  std::vector<std::string> grid;   ///< One to three expressions.
  std::vector<std::string> block;  ///< The same.
  std::string shared;              ///< Bytes of dynamic shared memory; empty: none.
  std::vector<std::string> arguments;
};

/// Throws usage_error that says what is missing.
LaunchLine parse_launch_line(std::string_view text);

/// How lines of a source begin that say how it is launched, and at which sizes: "// evo: launch saxpy<<<...>>>(...)",
/// "// evo: size N=4096".
inline constexpr std::string_view kLaunchComment = "// evo: launch ";
inline constexpr std::string_view kSizeComment = "// evo: size ";

/// What follows such a beginning in the lines of a source, in their order.
std::vector<std::string> comments_in(std::string_view source, std::string_view beginning);

}  // namespace evo
