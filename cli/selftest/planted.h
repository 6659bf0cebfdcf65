#pragma once

#include <optional>

#include "engine/base/source_tree.h"
#include "engine/space/space.h"
#include "engine/task/mutant.h"

namespace evo::cli {

/// Of a run on a GPU: mutants with endless loops take this long.
constexpr double kMutantDeadlineS = 10;

/// A mutant or control with everything that a candidate is made of.
struct Planted {
  SourceTree tree;  ///< With the edits.
  Family family;
  Genome genome;  ///< The legal one nearest to its genes.
};

/// Empty when the space's device cannot run the family. Throws usage_error when no legal genome has its genes.
std::optional<Planted> plant(const SourceTree& tree, const Task& task, const Space& space, const Mutant& mutant);

/// The mutants of those names; all without names. Throws usage_error for a name that none has.
std::vector<Mutant> chosen(std::vector<Mutant> mutants, const std::vector<std::string>& only);

}  // namespace evo::cli
