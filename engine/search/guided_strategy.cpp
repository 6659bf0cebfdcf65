#include "engine/search/guided_strategy.h"

#include <algorithm>
#include <utility>

#include "engine/strategy/strategies.h"

namespace evo {
namespace {

/// A batch of a pre-search gets this many times one prediction's time. It then predicts an eighth more genomes than
/// without it. More bring nothing that can be measured (docs/studies/search.md) and cost evaluations a minute.
constexpr std::size_t kPresearchedSlowly = 10;

}  // namespace

std::unique_ptr<Strategy> make_guided(const std::string& name, const Space& space, std::uint64_t seed,
                                      LatencyPredictor* predictor, const Guidance& guidance,
                                      std::vector<Seed> opening) {
  std::unique_ptr<Strategy> strategy =
      guidance.front ? make_front(name, space, seed) : make_strategy(name, space, seed);
  if (guidance.screen > 1) {
    ScreeningOptions options{.among = guidance.screen, .ahead = guidance.ahead, .late = guidance.late};
    if (guidance.presearches) {
      const std::size_t every = std::max<std::size_t>(1, kPresearchedSlowly * guidance.ahead);
      options.presearching = {.by = name, .seed = seed, .every = every};
    }
    strategy = make_screened(std::move(strategy), space, *predictor, std::move(options));
  }
  return make_seeded(std::move(strategy), std::move(opening));
}

}  // namespace evo
