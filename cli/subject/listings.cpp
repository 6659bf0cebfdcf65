#include "cli/subject/listings.h"

#include <fmt/format.h>

#include "cli/subject/lookup.h"
#include "cli/text/suggest.h"
#include "engine/base/error.h"
#include "engine/space/space.h"

namespace evo::cli {
namespace {

FamilyListing measure(const Family& family, const Bindings& known, const std::vector<Bindings>& specialisations) {
  FamilyListing listing;
  listing.family = family;
  if (!family.requires_device.evaluate_bool(known)) {
    listing.left_out = fmt::format("needs {}", family.requires_device.text());
    return listing;
  }
  try {
    const Space space({family}, known, specialisations);
    listing.legal = space.size(family.name);
    listing.product = space.product_size(family.name);
  } catch (const Error& error) {
    listing.left_out = error.what();
  }
  return listing;
}

}  // namespace

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

std::uint64_t SpaceListing::legal() const {
  std::uint64_t sum = 0;
  for (const FamilyListing& listing : families) {
    if (__builtin_add_overflow(sum, listing.legal, &sum)) return UINT64_MAX;
  }
  return sum;
}

SpaceListing list_space(const SourceTree& tree, const Task& task, const DeviceInfo& device, const Target& target,
                        const std::string& family) {
  SpaceListing listing{task, device, target, {}};
  const Bindings known = known_to_space(device, target);
  const std::vector<Bindings> specialisations = specialisations_of(task, target);
  std::vector<std::string> names;
  for (const Family& candidate : load_families(tree, task)) {
    names.push_back(candidate.name);
    if (family.empty() || candidate.name == family) {
      listing.families.push_back(measure(candidate, known, specialisations));
    }
  }
  if (listing.families.empty() && !family.empty()) {
    throw unknown_name("family", family, names, fmt::format("of task {}", task.name));
  }
  return listing;
}

}  // namespace evo::cli
