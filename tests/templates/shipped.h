#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/space/space.h"
#include "engine/task/candidate.h"
#include "engine/task/family.h"
#include "engine/task/task.h"
#include "evaluator/compile/compiler.h"

namespace evo::test {

/// The templates folder of the source tree.
const SourceTree& shipped_templates();

/// One compiler for all tests; skips the test where there is none.
Compiler& nvrtc_or_skip();

/// The facts of a GPU that templates use.
struct Gpu {
  std::string arch;  ///< What NVRTC compiles for.
  Bindings facts;
};
/// With all that a compute capability has; some number of SMs.
Gpu gpu_of(int sm, int sm_count = 100);
Gpu l4();
/// Without wgmma: families for every GPU alone.
Gpu h200();
Gpu hopper();

/// A shipped task aimed at some of its shapes on a GPU.
class Aimed {
 public:
  Aimed(std::string_view task_name, Gpu gpu, const std::vector<std::string>& shapes, const Bindings& options = {});

  Space space() const;
  /// Genomes of the space, by seed.
  std::vector<Genome> sample(const Space& space, int count, std::uint64_t seed) const;
  Candidate candidate(const Space& space, const Genome& genome) const;

  const Task& task() const { return task_; }
  const Gpu& gpu() const { return gpu_; }
  const Target& target() const { return target_; }

 private:
  Task task_;
  Gpu gpu_;
  Target target_;
};

}  // namespace evo::test
