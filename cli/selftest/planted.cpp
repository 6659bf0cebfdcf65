#include "cli/selftest/planted.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/text/suggest.h"
#include "engine/base/error.h"
#include "engine/base/rng.h"

namespace evo::cli {

std::optional<Planted> plant(const SourceTree& tree, const Task& task, const Space& space, const Mutant& mutant) {
  const auto is_its = [&](const Family& family) { return family.name == mutant.family; };
  if (std::ranges::none_of(space.families(), is_its)) return std::nullopt;
  Rng rng(0);
  const std::optional<Genome> genome = space.complete({mutant.family, mutant.genes}, mutant.kept, rng);
  if (!genome) {
    throw usage_error(fmt::format("mutant {} of {}: no legal genome has its genes", mutant.name, mutant.family));
  }
  SourceTree changed = edited(tree, mutant.edits);
  for (Family& family : load_families(changed, task))
    if (is_its(family)) return Planted{std::move(changed), std::move(family), *genome};
  throw usage_error(fmt::format("mutant {}: its edits remove the family {}", mutant.name, mutant.family));
}

std::vector<Mutant> chosen(std::vector<Mutant> mutants, const std::vector<std::string>& only) {
  if (only.empty()) return mutants;
  std::vector<std::string> names;
  for (const Mutant& mutant : mutants) names.push_back(mutant.name);
  for (const std::string& name : only) {
    if (std::ranges::find(names, name) == names.end()) throw unknown_name("mutant or control", name, names);
  }
  std::erase_if(mutants, [&](const Mutant& mutant) { return std::ranges::find(only, mutant.name) == only.end(); });
  return mutants;
}

}  // namespace evo::cli
