#include "engine/search/guided_strategy.h"

#include <utility>

#include "engine/strategy/strategies.h"

namespace evo {

std::unique_ptr<Strategy> make_guided(const std::string& name, const Space& space, std::uint64_t seed,
                                      LatencyPredictor* predictor, const Guidance& guidance,
                                      std::vector<Seed> opening) {
  std::unique_ptr<Strategy> strategy = make_strategy(name, space, seed);
  if (guidance.screen > 1) {
    ScreeningOptions options{.among = guidance.screen};
    options.together *= guidance.devices;
    if (guidance.presearches) options.presearching = {.by = name, .seed = seed};
    strategy = make_screened(std::move(strategy), space, *predictor, std::move(options));
  }
  return make_seeded(std::move(strategy), std::move(opening));
}

}  // namespace evo
