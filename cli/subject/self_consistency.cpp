#include "cli/subject/self_consistency.h"

#include <map>

#include "engine/base/error.h"
#include "engine/task/task.h"

namespace evo::cli {

bool is_self_consistent(const Store& store, const std::string& task, const std::string& task_hash) {
  const SourceTree files = store.task_files(task_hash);
  if (files.empty()) return false;
  try {
    return load_task(files, task).self_consistent;
  } catch (const Error&) {
    return false;  // Of another version of evo.
  }
}

void mark_self_consistent(const Store& store, std::vector<EliteRow>& rows) {
  std::map<std::string, bool> known;
  for (EliteRow& row : rows) {
    auto found = known.find(row.task_hash);
    if (found == known.end())
      found = known.emplace(row.task_hash, is_self_consistent(store, row.task, row.task_hash)).first;
    row.self_consistent = found->second;
  }
}

}  // namespace evo::cli
