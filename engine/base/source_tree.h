#pragma once

#include <map>
#include <string>

namespace evo {

/// Text files by path relative to the templates folder ("fp8_sdpa/task.json", "include/mma.cuh").
/// The engine reads no files: the command line loads the folder, tests write trees by hand.
using SourceTree = std::map<std::string, std::string, std::less<>>;

}  // namespace evo
