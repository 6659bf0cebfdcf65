#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evo::cli {

/// Where a folder that is shipped with evo may lie, most likely first: relative to the executable ("../templates",
/// "../share/evo/templates"). The working directory is none of them: what lies there may be anybody's.
std::vector<std::filesystem::path> shipped_places(const std::string& folder);

}  // namespace evo::cli
