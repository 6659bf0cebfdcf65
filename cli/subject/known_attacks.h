#pragma once

#include <string>

#include "engine/task/task.h"
#include "population/store/store.h"

namespace evo::cli {

/// Adds the regimes that `evo attack` found for this task, as attack_1, attack_2, ..., up to a time (UTC, ISO 8601;
/// empty: all). Returns how many.
std::size_t add_known_attacks(const Store& store, Task& task, const std::string& until = {});
/// The same of a database that need not be there. One of an older evo is brought up to date.
std::size_t add_known_attacks(const std::string& database, Task& task);

}  // namespace evo::cli
