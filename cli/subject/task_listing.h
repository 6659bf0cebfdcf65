#pragma once

#include <string>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/task/family.h"
#include "engine/task/task.h"

namespace evo::cli {

/// A task of a templates folder. A malformed one has a name and a problem, and nothing else.
struct TaskListing {
  std::string name;
  std::string problem;  ///< Empty when it loads.
  Task task;
  std::vector<Family> families;
};
std::vector<TaskListing> list_tasks(const SourceTree& tree);

}  // namespace evo::cli
