#include "cli/subject/task_listing.h"

#include "engine/base/error.h"

namespace evo::cli {

std::vector<TaskListing> list_tasks(const SourceTree& tree) {
  std::vector<TaskListing> listings;
  for (const std::string& name : task_names(tree)) {
    TaskListing listing;
    listing.name = name;
    try {
      listing.task = load_task(tree, name);
      listing.families = load_families(tree, listing.task);
    } catch (const Error& error) {
      listing.problem = error.what();
    }
    listings.push_back(std::move(listing));
  }
  return listings;
}

}  // namespace evo::cli
