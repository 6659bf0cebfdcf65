#include "engine/search/presearch.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "engine/base/rng.h"
#include "engine/strategy/strategies.h"

namespace evo {
namespace {

/// Two seeds differ in more than this part of their genes, at least in two genes. What makes one of several alike wrong
/// or slow mostly does so to all.
constexpr double kApart = 1.0 / 6;

/// How much slower than the best one a genome may be predicted to be a seed for its alleles.
constexpr double kNearlyAsFast = 1.15;

using Allele = std::tuple<std::string, std::string, Value>;  // family, gene, value

std::set<Allele> alleles_of(const Genome& genome) {
  std::set<Allele> alleles;
  for (const auto& [gene, value] : genome.genes) alleles.emplace(genome.family, gene, value);
  return alleles;
}

/// Whether they differ in so few genes that one says enough of both; a gene that only one of them has counts.
bool nearly_equal(const Space& space, const Genome& a, const Genome& b) {
  const Point one = space.point(a);
  const Point other = space.point(b);
  if (one.family != other.family) return false;
  std::size_t differing = 0;
  for (std::size_t i = 0; i < one.alleles.size(); ++i) differing += one.alleles[i] != other.alleles[i];
  return differing <= 1 || static_cast<double>(differing) <= kApart * static_cast<double>(one.alleles.size());
}

}  // namespace

PresearchClimb::PresearchClimb(const Space& space, std::string_view strategy, std::uint64_t seed,
                               LatencyPredictor& predictor, std::size_t genomes, std::size_t together)
    : predictor_(predictor), strategy_(make_strategy(strategy, space, seed)), genomes_(genomes), together_(together) {
  choose_batch();
}

void PresearchClimb::choose_batch() {
  const std::size_t count = std::min(together_, genomes_);
  while (batch_.size() < count) {
    std::optional<Proposal> proposal = strategy_->ask();
    if (!proposal) break;
    batch_.push_back({proposal->ticket, std::move(proposal->genome), {}});
  }
  genomes_ -= batch_.size();
}

void PresearchClimb::begin(double share) {
  const auto count =
      static_cast<std::size_t>(std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(batch_.size())));
  for (Pending& pending : std::span(batch_).first(count)) {
    if (!pending.prediction) pending.prediction = predictor_.begin(pending.genome);
  }
}

bool PresearchClimb::advance() {
  begin(1);
  for (const Pending& pending : batch_) {
    if (!pending.prediction->get()) return false;
  }
  for (Pending& pending : std::exchange(batch_, {})) {
    const PredictedLatency& predicted = *pending.prediction->get();
    const bool finite = predicted.latency && std::isfinite(*predicted.latency);
    strategy_->tell({pending.ticket, finite ? predicted.latency : std::nullopt});
    if (finite) predicted_.emplace_back(std::move(pending.genome), predicted);
  }
  choose_batch();
  return !batch_.empty();
}

std::vector<Seed> best_apart(const Space& space, PredictedGenomes predicted, std::size_t count) {
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

std::vector<Seed> lacking_alleles(const std::vector<Seed>& seeds, const PredictedGenomes& predicted,
                                  std::size_t count) {
  std::set<Allele> had;
  for (const Seed& seed : seeds) had.merge(alleles_of(seed.genome));
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [genome, prediction] : predicted) best = std::min(best, *prediction.latency);
  const auto lacking = [&](const Genome& genome) {
    return std::ranges::count_if(alleles_of(genome), [&](const Allele& allele) { return !had.contains(allele); });
  };

  std::vector<Seed> found;
  while (found.size() < count) {
    const std::pair<Genome, PredictedLatency>* chosen = nullptr;
    std::ptrdiff_t most = 0;
    for (const auto& one : predicted) {
      if (*one.second.latency > kNearlyAsFast * best) continue;
      const std::ptrdiff_t brought = lacking(one.first);
      if (brought == 0 || brought < most) continue;
      if (brought == most && *one.second.latency >= *chosen->second.latency) continue;
      chosen = &one;
      most = brought;
    }
    if (chosen == nullptr) break;
    had.merge(alleles_of(chosen->first));
    found.push_back({chosen->first, std::string(kPresearched)});
  }
  return found;
}

std::vector<Seed> run_presearch(const Space& space, std::string_view strategy, std::uint64_t seed,
                                LatencyPredictor& predictor, const Presearch& presearch,
                                const std::function<bool()>& out_of_time) {
  std::vector<PresearchClimb> climbs;
  for (std::size_t number = 0; number < presearch.climbs; ++number) {
    // Random streams of their own: the search itself uses that of `seed`.
    const std::size_t genomes = presearch.genomes / presearch.climbs + (number < presearch.genomes % presearch.climbs);
    climbs.emplace_back(space, strategy, Rng(seed + number + 1).next(), predictor, genomes, presearch.together);
  }
  // In turns: while the batch of one is waited for, those of the others are under way.
  for (PresearchClimb& climb : climbs) climb.begin(1);
  for (bool going = true; going;) {
    going = false;
    for (PresearchClimb& climb : climbs) {
      if (out_of_time && out_of_time()) {
        going = false;
        break;
      }
      going = climb.advance() || going;
      climb.begin(1);
    }
  }
  PredictedGenomes predicted;
  for (const PresearchClimb& climb : climbs)
    predicted.insert(predicted.end(), climb.predicted().begin(), climb.predicted().end());
  std::vector<Seed> seeds = best_apart(space, predicted, presearch.kept);
  std::ranges::move(lacking_alleles(seeds, predicted, presearch.varied), std::back_inserter(seeds));
  return seeds;
}

}  // namespace evo
