#include "engine/strategy.h"

#include <fmt/format.h>

#include "engine/error.h"
#include "engine/strategies.h"
#include "engine/text.h"

namespace evo {

std::vector<std::string> strategy_names() {
  return {"evolve", "random"};
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, const Space& space, std::uint64_t seed) {
  if (name == "evolve") return make_evolve(space, seed);
  if (name == "random") return make_random(space, seed);
  throw usage_error(fmt::format("unknown strategy '{}'; there are {}", name, list_of(strategy_names())));
}

}  // namespace evo
