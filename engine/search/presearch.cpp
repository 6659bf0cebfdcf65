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
#include "engine/strategy/strategy.h"

namespace evo {
namespace {

using Latencies = std::vector<std::pair<Genome, Foretold>>;

/// In how many genes they differ; one that only one of them has counts.
std::size_t differing_genes(const Space& space, const Genome& a, const Genome& b) {
  const Point one = space.point(a);
  const Point other = space.point(b);
  if (one.family != other.family) return one.alleles.size();
  std::size_t count = 0;
  for (std::size_t i = 0; i < one.alleles.size(); ++i) count += one.alleles[i] != other.alleles[i];
  return count;
}

/// Asks for a batch and tells it what is foretold, which it appends. False when the strategy has nothing more to ask,
/// or foresight was told to stop.
bool climb_on(Strategy& strategy, Foresight& foresight, std::size_t batch, Latencies& foretold) {
  std::vector<std::uint64_t> tickets;
  std::vector<Genome> genomes;
  while (genomes.size() < batch) {
    std::optional<Proposal> proposal = strategy.ask();
    if (!proposal) break;
    tickets.push_back(proposal->ticket);
    genomes.push_back(std::move(proposal->genome));
  }
  std::vector<Foretold> answers = foresight.foretell(genomes);
  if (genomes.empty() || answers.size() < genomes.size()) return false;
  for (std::size_t i = 0; i < genomes.size(); ++i) {
    const bool finite = answers[i].latency && std::isfinite(*answers[i].latency);
    strategy.tell({tickets[i], finite ? answers[i].latency : std::nullopt});
    if (finite) foretold.emplace_back(std::move(genomes[i]), std::move(answers[i]));
  }
  return true;
}

std::vector<Seed> best_apart(const Space& space, Latencies foretold, std::size_t count) {
  std::ranges::stable_sort(foretold, {}, [](const auto& one) { return *one.second.latency; });
  std::vector<Seed> best;
  std::set<std::string> programs;
  for (auto& [genome, told] : foretold) {
    if (best.size() == count) break;
    const bool alike = std::ranges::any_of(
        best, [&](const Seed& better) { return differing_genes(space, genome, better.genome) <= 1; });
    if (alike || (!told.program.empty() && !programs.insert(told.program).second)) continue;
    best.push_back({std::move(genome), std::string(kRehearsed)});
  }
  return best;
}

}  // namespace

std::vector<Seed> rehearse(const Space& space, std::string_view strategy, std::uint64_t seed, Foresight& foresight,
                           const Rehearsal& rehearsal, const std::function<bool()>& out_of_time) {
  Latencies foretold;
  for (std::size_t climb = 0; climb < rehearsal.climbs; ++climb) {
    // Streams of their own: the search itself begins with that of `seed`.
    const auto climbing = make_strategy(strategy, space, Rng(seed + climb + 1).next());
    const std::size_t genomes =
        rehearsal.genomes / rehearsal.climbs + (climb < rehearsal.genomes % rehearsal.climbs);
    for (std::size_t done = 0; done < genomes; done += rehearsal.together) {
      if (out_of_time && out_of_time()) return best_apart(space, std::move(foretold), rehearsal.kept);
      if (!climb_on(*climbing, foresight, std::min(rehearsal.together, genomes - done), foretold)) break;
    }
  }
  return best_apart(space, std::move(foretold), rehearsal.kept);
}

}  // namespace evo
