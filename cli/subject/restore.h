#pragma once

#include <vector>

#include "engine/base/source_tree.h"
#include "engine/task/candidate.h"
#include "engine/task/family.h"
#include "engine/task/task.h"
#include "population/store/store.h"

namespace evo::cli {

/// A stored candidate with everything that its row refers to. It is rebuilt from the database alone: templates are not
/// needed, and changed templates make no difference.
struct Restored {
  CandidateRow row;
  RunRow run;
  SourceTree files;  ///< Of the task, and those that came with the candidate.
  Task task;
  Family family;
};

/// The files of a run's task. Throws usage_error when the run was imported without them.
SourceTree files_of(const Store& store, const RunRow& run);

/// Throws usage_error when there is no such candidate, or it was imported without its sources.
Restored restore(const Store& store, CandidateId id);

/// The programs as they were stored, without plans.
std::vector<Program> stored_programs(const CandidateRow& row);

/// A candidate of the given programs, with plans for every shape of the target. Where `tree` still gives a program's
/// source, messages about it name the templates.
Candidate with_plans(const SourceTree& tree, const Task& task, const Family& family, const Genome& genome,
                     std::vector<Program> programs, const Target& target, const Bindings& facts);

/// A stored candidate with plans for the target's shapes, resolved with the facts of the device it was found on.
Candidate restored_candidate(const Restored& restored, const Target& target);

/// The reference programs for the specialisations of `programs`, in the same order, for the target's shapes.
std::vector<Program> references_of(const SourceTree& tree, const Task& task, const Target& target,
                                   const std::vector<Program>& programs);

/// The family of that name. Throws usage_error when the task has none.
Family find_family(const SourceTree& tree, const Task& task, const std::string& name);

}  // namespace evo::cli
