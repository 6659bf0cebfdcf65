#pragma once

#include <string>
#include <vector>

#include "population/store/store.h"

namespace evo::cli {

/// The remark on every result of such a task.
inline constexpr const char* kSelfConsistentOnly = "self-consistent only";

/// Whether a task's reference is a genome of its own (Task::self_consistent). A task that the database has no files of,
/// as after an import, counts as having a reference.
bool is_self_consistent(const Store& store, const std::string& task, const std::string& task_hash);

/// The same for the rows, in EliteRow::self_consistent.
void mark_self_consistent(const Store& store, std::vector<EliteRow>& rows);

}  // namespace evo::cli
