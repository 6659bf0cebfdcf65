#include "cli/subject/genome_change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "cli/text/format.h"
#include "population/store/records.h"

namespace evo::cli {

std::string genome_change(const Genome& from, const Genome& to) {
  std::vector<std::string> changes;
  if (from.family != to.family) changes.push_back(fmt::format("family {} -> {}", from.family, to.family));
  for (const GeneDifference& difference : differences(from, to)) {
    if (from.family != to.family && (!difference.a || !difference.b)) continue;
    changes.push_back(
        fmt::format("{} {} -> {}", difference.gene, allele_text(difference.a), allele_text(difference.b)));
  }
  return changes.empty() ? "nothing" : fmt::format("{}", fmt::join(changes, ", "));
}

}  // namespace evo::cli
