#pragma once

#include <string>
#include <vector>

#include "engine/choices/launch_line.h"
#include "engine/expression/value.h"

namespace evo {

/// A place in a plain kernel, or in its launch, that could be otherwise.
struct Choice {
  std::string gene;           ///< A macro: "TILE", "unroll_12", "min_blocks".
  int line = 0;               ///< Of the author's source, from 1; 0: of the launch.
  std::string what;           ///< "the constant TILE", "unrolling of the loop".
  std::vector<Value> values;  ///< Those that are tried.
  Value own;                  ///< The author's, which is one of them.
};

/// A plain kernel with a macro in each of these places.
struct KernelChoices {
  std::vector<Choice> choices;
  std::string source;  ///< The author's, with as many lines.
  std::string header;  ///< What the source needs ahead of it: macros that follow from the genes.
  LaunchLine launch;   ///< With genes in the place of the author's numbers.
  /// What follows the source: the kernel for several blocks at once, which has these arguments more. Empty: there is
  /// none.
  std::string coarse;
  std::vector<std::string> coarse_arguments;
};

/// The gene of a choice that is an option of the compiler, and no macro.
inline constexpr const char* kFastMath = "fast_math";

/// Finds them: constants of the file that reach a bound, a size or an unroll factor; loops to unroll; the block's
/// extents, where the kernel reads blockDim; blocks on an SM; __restrict__; how read-only arrays are loaded; padding of
/// rows in shared memory; several blocks at once (coarse_kernel.h); fast math. `source`: device code alone
/// (host_code.h). Only what stands in the kernel or is used by device code is a choice; names of `sizes` are none.
/// Throws usage_error where the source has no such kernel.
KernelChoices find_choices(const std::string& source, const LaunchLine& launch, const std::vector<std::string>& sizes);

}  // namespace evo
