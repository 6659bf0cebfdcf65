#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evo::cli {

/// Where a folder that is shipped with evo may lie, most likely first: in the working directory, and relative to the
/// executable ("../templates", "../share/evo/templates").
std::vector<std::filesystem::path> shipped_places(const std::string& folder);

}  // namespace evo::cli
