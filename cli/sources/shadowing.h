#pragma once

#include <string>

namespace evo::cli {

/// Whether a task is one that is shipped with evo. `hash`: Task::hash.
bool is_shipped(const std::string& task, const std::string& hash);

/// The remark on a task, and on every result of it, that has the name of a task that is shipped with evo and is another
/// one: its limits may be, too. Empty for all others. `hash`: Task::hash.
std::string shadowing_remark(const std::string& task, const std::string& hash);

}  // namespace evo::cli
