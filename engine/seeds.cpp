#include "engine/seeds.h"

#include <algorithm>
#include <utility>

#include "engine/rng.h"

namespace evo {
namespace {

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
  std::optional<Proposal> offer(const Genome& genome, std::string op,
                                std::vector<std::uint64_t> parents) override {
    return strategy_->offer(genome, std::move(op), std::move(parents));
  }
  void tell(const Answer& answer) override { strategy_->tell(answer); }

 private:
  std::unique_ptr<Strategy> strategy_;
  std::vector<Seed> seeds_;
  std::size_t next_ = 0;
};

bool has_family(const Space& space, const std::string& name) {
  return std::any_of(space.families().begin(), space.families().end(),
                     [&](const Family& family) { return family.name == name; });
}

}  // namespace

std::vector<Seed> seeds_in(const Space& space, const std::vector<std::vector<Seed>>& rankings) {
  std::vector<Seed> seeds;
  Rng ties(0);
  std::size_t longest = 0;
  for (const auto& ranking : rankings) longest = std::max(longest, ranking.size());
  for (std::size_t rank = 0; rank < longest; ++rank) {
    for (const auto& ranking : rankings) {
      if (rank >= ranking.size() || !has_family(space, ranking[rank].genome.family)) continue;
      Seed seed{space.complete(ranking[rank].genome, ties), ranking[rank].origin};
      const bool known = std::any_of(seeds.begin(), seeds.end(),
                                     [&](const Seed& other) { return other.genome == seed.genome; });
      if (!known && seeds.size() < kMaxSeeds) seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

std::unique_ptr<Strategy> make_seeded(std::unique_ptr<Strategy> strategy, std::vector<Seed> seeds) {
  return std::make_unique<SeededStrategy>(std::move(strategy), std::move(seeds));
}

}  // namespace evo
