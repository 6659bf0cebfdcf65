#include "engine/search/presearch.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engine/base/rng.h"
#include "engine/space/space.h"
#include "engine/strategy/strategies.h"
#include "engine/strategy/strategy.h"

namespace evo {
namespace {

/// Two seeds differ in more than this part of their genes, at least in two genes. What makes one of several alike wrong
/// or slow mostly does so to all.
constexpr double kApart = 1.0 / 6;

using Latencies = std::vector<std::pair<Genome, PredictedLatency>>;

/// Whether they differ in so few genes that one says enough of both; a gene that only one of them has counts.
bool nearly_equal(const Space& space, const Genome& a, const Genome& b) {
  const Point one = space.point(a);
  const Point other = space.point(b);
  if (one.family != other.family) return false;
  std::size_t differing = 0;
  for (std::size_t i = 0; i < one.alleles.size(); ++i) differing += one.alleles[i] != other.alleles[i];
  return differing <= 1 || static_cast<double>(differing) <= kApart * static_cast<double>(one.alleles.size());
}

/// Asks the strategy for a batch, answers it with the predicted latencies, and appends them to `predicted`. False when
/// the strategy has no further genome or the predictor was interrupted.
bool climb_on(Strategy& strategy, LatencyPredictor& predictor, std::size_t batch, Latencies& predicted) {
  std::vector<std::uint64_t> tickets;
  std::vector<Genome> genomes;
  while (genomes.size() < batch) {
    std::optional<Proposal> proposal = strategy.ask();
    if (!proposal) break;
    tickets.push_back(proposal->ticket);
    genomes.push_back(std::move(proposal->genome));
  }
  std::vector<PredictedLatency> answers = predictor.predict(genomes);
  if (genomes.empty() || answers.size() < genomes.size()) return false;
  for (std::size_t i = 0; i < genomes.size(); ++i) {
    const bool finite = answers[i].latency && std::isfinite(*answers[i].latency);
    strategy.tell({tickets[i], finite ? answers[i].latency : std::nullopt});
    if (finite) predicted.emplace_back(std::move(genomes[i]), std::move(answers[i]));
  }
  return true;
}

/// The best genomes of different programs, no two nearly equal.
std::vector<Seed> best_apart(const Space& space, Latencies predicted, std::size_t count) {
  std::ranges::stable_sort(predicted, {}, [](const auto& one) { return *one.second.latency; });
  std::vector<Seed> best;
  std::set<std::string> programs;
  for (auto& [genome, prediction] : predicted) {
    if (best.size() == count) break;
    const bool alike =
        std::ranges::any_of(best, [&](const Seed& better) { return nearly_equal(space, genome, better.genome); });
    if (alike || (!prediction.program.empty() && !programs.insert(prediction.program).second)) continue;
    best.push_back({std::move(genome), std::string(kPresearched)});
  }
  return best;
}

}  // namespace

std::vector<Seed> run_presearch(const Space& space, std::string_view strategy, std::uint64_t seed,
                                LatencyPredictor& predictor, const Presearch& presearch,
                                const std::function<bool()>& out_of_time) {
  Latencies predicted;
  for (std::size_t climb = 0; climb < presearch.climbs; ++climb) {
    // Random streams of their own: the search itself uses that of `seed`.
    const auto climbing = make_strategy(strategy, space, Rng(seed + climb + 1).next());
    const std::size_t genomes = presearch.genomes / presearch.climbs + (climb < presearch.genomes % presearch.climbs);
    for (std::size_t done = 0; done < genomes; done += presearch.together) {
      if (out_of_time && out_of_time()) return best_apart(space, std::move(predicted), presearch.kept);
      if (!climb_on(*climbing, predictor, std::min(presearch.together, genomes - done), predicted)) break;
    }
  }
  return best_apart(space, std::move(predicted), presearch.kept);
}

}  // namespace evo
