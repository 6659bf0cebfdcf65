#include "engine/strategy/strategies.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo {

std::vector<std::string> strategy_names() {
  return {"evolve", "random", "exhaustive", "annealing", "genetic", "local"};
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, const Space& space, std::uint64_t seed) {
  if (name == "evolve") return make_evolve(space, seed);
  constexpr std::string_view kTuned = "evolve:";
  if (name.starts_with(kTuned)) return make_evolve(space, seed, parse_evolve_tuning(name.substr(kTuned.size())));
  if (name == "random") return make_random(space, seed);
  if (name == "exhaustive") return make_exhaustive(space);
  if (name == "annealing") return make_annealing(space, seed);
  if (name == "genetic") return make_genetic(space, seed);
  if (name == "local") return make_local(space, seed);
  throw usage_error(fmt::format("unknown strategy '{}'; there are {}", name, list_of(strategy_names())));
}

}  // namespace evo
