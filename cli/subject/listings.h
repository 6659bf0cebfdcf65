#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/task/candidate.h"
#include "engine/task/family.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// A task of a templates folder; a malformed one is listed with its problem and nothing else.
struct TaskListing {
  std::string name;
  std::string problem;  ///< Empty when it loads.
  Task task;
  std::vector<Family> families;
};
std::vector<TaskListing> list_tasks(const SourceTree& tree);

/// A family and how much of it there is to search on a device.
struct FamilyListing {
  Family family;
  std::string left_out;     ///< Why the device or the options exclude it; empty when it takes part.
  std::uint64_t legal = 0;  ///< Genomes.
  double product = 0;       ///< Size of the product of all alleles.
};

struct SpaceListing {
  Task task;
  DeviceInfo device;
  Target target;
  std::vector<FamilyListing> families;

  std::uint64_t legal() const;  ///< Over all families; saturates.
};
/// `family`: only that one; empty: all.
SpaceListing list_space(const SourceTree& tree, const Task& task, const DeviceInfo& device, const Target& target,
                        const std::string& family);

}  // namespace evo::cli
