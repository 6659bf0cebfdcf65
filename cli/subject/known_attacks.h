#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/subject/claim.h"
#include "engine/task/target.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"
#include "evaluator/pipeline/kernel_attack.h"
#include "population/store/store.h"

namespace evo::cli {

/// Adds the regimes that `evo attack` found for this task, as attack_1, attack_2, ..., up to a time (UTC, ISO 8601;
/// empty: all). Returns how many.
std::size_t add_known_attacks(const Store& store, Task& task, const std::string& until = {});
/// The same of a database that need not be there. One of an older evo is brought up to date.
std::size_t add_known_attacks(const std::string& database, Task& task);

/// The same for the task of an exported file, where there is a database.
void add_attacks_on_file(const std::string& database, Claim& claim);

/// Those that are not among the task's regimes: found since it was loaded.
std::vector<KnownAttack> further_attacks(const Store& store, const Task& task);

/// The hash by which a database knows the task of a kernel: an exported file holds a part of the task's files only.
/// Where the installed task has taken the file's place, it is that one's.
std::string task_hash_in_database(const Claim& claim);

/// A find as the database keeps it, for later candidates of the task. `origin`: the kernel, as "candidate 17".
/// `task_hash`: by which the database knows the task. Where a task has several objectives the find is one of this
/// objective's: others may have wider limits.
AttackRecord attack_record(const AttackFind& find, const Task& task, const Target& target, const DeviceInfo& device,
                           const std::string& task_hash, const std::string& origin);

/// `"attack": {...}`, as task.json has it.
std::string pasted(const AttackRecord& record);

}  // namespace evo::cli
