#include "engine/task/regime.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo {

Distribution parse_distribution(std::string_view name) {
  std::vector<std::string> known;
  for (const DistributionName& one : kDistributions) {
    if (one.name == name) return one.distribution;
    known.emplace_back(one.name);
  }
  throw usage_error(fmt::format("unknown distribution '{}'{}", name, suggestion(std::string(name), known)));
}

}  // namespace evo
