#pragma once

#include <optional>
#include <string>

namespace evo {

/// A kernel whose blocks do the work of several of the author's at once, each thread that of one thread of each: thread
/// coarsening (Magni, Dubach, O'Boyle: "A Large-Scale Cross-Architecture Evaluation of Thread-Coarsening", SC 2013).
/// A loop whose bounds are the same for all of them is passed once, and what it loads for all of them is loaded once.
///
/// The macros each_x and each_y say of how many blocks, next to each other along each axis; with 1 and 1 the kernel is
/// the author's. It has two parameters more, the author's blocks of the grid along x and y. Where a thread of the
/// author's would leave early, or its block is beyond the grid, the blocks are passed one after the other.
struct CoarseKernel {
  std::string source;  ///< The author's, whose kernel is a function where there are several blocks; as many lines.
  std::string header;  ///< Macros that it needs ahead of it.
  std::string kernel;  ///< What follows the source.
  bool along_y;        ///< Whether each_y is a macro that is to be given; else it is 1.
};

/// Empty where the threads of the kernel work together (shared memory, barriers, shuffles), where they do not ask for
/// their block's place along x, and where the code is not understood. `name`: without namespaces and arguments of a
/// template. `along_y`: whether its grid has an axis y.
std::optional<CoarseKernel> coarse_kernel(const std::string& source, const std::string& name, bool along_y);

}  // namespace evo
