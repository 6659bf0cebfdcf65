#include "engine/search/seeds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/base/rng.h"
#include "engine/result/evaluation.h"

namespace evo {
namespace {

constexpr std::size_t kMostSeeds = 10;
/// With three seeds fewer searches start near the optimum. With eight more evaluations are lost when no seed is good.
constexpr std::size_t kPredictionSeeds = 5;

class SeededStrategy : public Strategy {
 public:
  SeededStrategy(std::unique_ptr<Strategy> strategy, std::vector<Seed> seeds)
      : strategy_(std::move(strategy)), seeds_(std::move(seeds)) {}

  std::optional<Proposal> ask() override {
    while (next_ < seeds_.size()) {
      if (auto proposal = strategy_->offer(seeds_[next_++].genome, "seed", {})) return proposal;
    }
    return strategy_->ask();
  }
  std::optional<Proposal> offer(const Genome& genome, std::string op, std::vector<std::uint64_t> parents) override {
    return strategy_->offer(genome, std::move(op), std::move(parents));
  }
  void tell(const Answer& answer) override { strategy_->tell(answer); }
  void retract(const Answer& failure) override { strategy_->retract(failure); }

 private:
  std::unique_ptr<Strategy> strategy_;
  std::vector<Seed> seeds_;
  std::size_t next_ = 0;
};

bool has_family(const Space& space, const std::string& name) {
  return std::any_of(space.families().begin(), space.families().end(),
                     [&](const Family& family) { return family.name == name; });
}

/// At most `each` seeds of each ranking, interleaved rank by rank, and `all` in total.
std::vector<Seed> best_of(const Space& space, const std::vector<std::vector<Seed>>& rankings, std::size_t each,
                          std::size_t all) {
  std::vector<Seed> seeds;
  Rng ties(0);
  for (std::size_t rank = 0; rank < each; ++rank) {
    for (const auto& ranking : rankings) {
      if (rank >= ranking.size() || !has_family(space, ranking[rank].genome.family)) continue;
      Seed seed{space.complete(ranking[rank].genome, ties), ranking[rank].origin};
      const bool known =
          std::any_of(seeds.begin(), seeds.end(), [&](const Seed& other) { return other.genome == seed.genome; });
      if (!known && seeds.size() < all) seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

}  // namespace

std::vector<Seed> seeds_in(const Space& space, const std::vector<std::vector<Seed>>& rankings) {
  return best_of(space, rankings, kEliteCount, kMostSeeds);
}

std::vector<Seed> seeds_in(const Space& space, const std::vector<std::vector<Seed>>& rankings,
                           LatencyPredictor& predictor) {
  std::vector<Seed> candidates = best_of(space, rankings, kSeedCandidates, kSeedCandidates);
  std::vector<Genome> genomes;
  for (const Seed& candidate : candidates) genomes.push_back(candidate.genome);
  const std::vector<PredictedLatency> predicted = predictor.predict(genomes);
  if (predicted.size() < genomes.size()) return {};
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!predicted[i].latency || std::isfinite(*predicted[i].latency)) order.push_back(i);
  }
  const auto latency = [&](std::size_t i) {
    return predicted[i].latency.value_or(std::numeric_limits<double>::infinity());
  };
  std::ranges::stable_sort(order, {}, latency);
  std::vector<Seed> seeds;
  for (std::size_t i = 0; i < std::min(kPredictionSeeds, order.size()); ++i)
    seeds.push_back(std::move(candidates[order[i]]));
  return seeds;
}

std::unique_ptr<Strategy> make_seeded(std::unique_ptr<Strategy> strategy, std::vector<Seed> seeds) {
  return std::make_unique<SeededStrategy>(std::move(strategy), std::move(seeds));
}

}  // namespace evo
