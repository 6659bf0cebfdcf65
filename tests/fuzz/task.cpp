// A task.json, a family.json and mutants, parted by NUL bytes: loaded, or refused in one line. What loads gives a
// space, a source and plans, or says why not.
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/space/space.h"
#include "engine/task/candidate.h"
#include "engine/task/mutant.h"
#include "engine/task/scope.h"
#include "tests/fuzz/fuzz.h"

namespace {

constexpr std::uint64_t kLargestSpace = 1'000'000;

std::string_view part(std::string_view& rest) {
  const std::size_t end = rest.find('\0');
  const std::string_view first = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return first;
}

void use(const evo::SourceTree& tree) {
  const evo::Task task = evo::load_task(tree, "t");
  const evo::Target target = evo::make_target(task, "vgpu", {}, {});
  std::vector<evo::Family> families = evo::load_families(tree, task);
  evo::load_mutants(tree, task);
  if (families.empty()) return;
  // Counting a large space may take long. That is its author's choice and not a fault of the reader.
  double product = 1;
  for (const evo::Gene& gene : families.front().genes) product *= static_cast<double>(gene.alleles.size());
  if (product > static_cast<double>(kLargestSpace)) return;
  const evo::Bindings facts = evo::facts_of({.sm = 90,
                                             .smem_per_block_bytes = 232448,
                                             .smem_per_sm_bytes = 233472,
                                             .registers_per_sm = 65536,
                                             .sm_count = 132});
  const evo::Bindings known = evo::joined(facts, target.options);
  const evo::Space space(std::move(families), known, evo::specialisations_of(task, target));
  evo::Rng rng(1);
  if (space.size() == 0) return;
  const evo::Genome genome = space.sample(rng);
  evo::make_candidate(tree, task, space.family(genome.family), genome, target, facts);
}

}  // namespace

EVO_FUZZ_TARGET(task) {
  std::string_view rest = text;
  evo::SourceTree tree = {{"t/reference.cu", "${D}"}, {"t/f/kernel.cu", "//% slot s\n"}, {"t/f/s/one.cu", "1"}};
  tree["t/task.json"] = part(rest);
  tree["t/f/family.json"] = part(rest);
  if (const std::string_view mutants = part(rest); !mutants.empty()) tree["t/mutants/f.json"] = mutants;
  use(tree);
}
