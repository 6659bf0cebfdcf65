#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/source_tree.h"

namespace evo {

/// Where kernels of an objective do not keep what its limits promise, one sentence each, for people: TASK/cautions.json,
/// `{"faithful": ["..."]}`. None without the file or for another objective. The file is no part of the task's hash.
/// Throws usage_error that names the file, the key and the reason.
std::vector<std::string> cautions(const SourceTree& tree, std::string_view task, std::string_view objective);

}  // namespace evo
