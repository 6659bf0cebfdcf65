#pragma once

#include <string>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/task/family.h"

namespace evo::cli {

/// The genes of several values that change nothing: no template of the family, no constraint, condition or launch has
/// their name. A line "#define GENE ${GENE}" alone does not use the gene.
std::vector<std::string> unused_genes(const SourceTree& tree, const Family& family);

}  // namespace evo::cli
