#include <algorithm>

#include "engine/space/variation.h"
#include "engine/strategy/space_strategy.h"
#include "engine/strategy/strategies.h"

namespace evo {
namespace {

constexpr std::size_t kPopulation = 20;
constexpr double kMutated = 0.5;  // of the children, after crossover
constexpr int kChildDraws = 12;   // for a child not asked before

/// A steady-state genetic algorithm: parents by tournament of two, uniform crossover, mutation of one gene,
/// the worst of the population is replaced.
class GeneticStrategy : public SpaceStrategy {
 public:
  GeneticStrategy(const Space& space, std::uint64_t seed) : SpaceStrategy(space), rng_(seed) {}

  std::optional<Proposal> ask() override {
    if (ledger_.exhausted()) return std::nullopt;
    if (ledger_.next_ticket() >= kPopulation && population_.size() >= 2) {
      for (int draw = 0; draw < kChildDraws; ++draw) {
        const Individual& a = tournament();
        const Individual& b = tournament();
        Genome child = crossover(space_, a.genome, b.genome, rng_);
        if (rng_.unit() < kMutated || draw > kChildDraws / 2) child = mutate_one(space_, child, rng_);
        Point point = space_.point(child);
        if (!ledger_.asked(point)) return ledger_.propose(std::move(point), "crossover", {a.ticket, b.ticket});
      }
    }
    return ledger_.propose(ledger_.draw(rng_), "random", {});
  }

  void tell(const Answer& answer) override {
    const Point point = ledger_.settle(answer);
    if (!answer.latency_us) return;
    population_.push_back({answer.ticket, space_.genome(point), *answer.latency_us});
    if (population_.size() <= kPopulation) return;
    population_.erase(std::max_element(population_.begin(), population_.end(),
                                       [](const auto& a, const auto& b) { return a.latency_us < b.latency_us; }));
  }

  void retract(const Answer& failure) override {
    std::erase_if(population_, [&](const Individual& one) { return one.ticket == failure.ticket; });
  }

 private:
  struct Individual {
    std::uint64_t ticket = 0;
    Genome genome;
    double latency_us = 0;
  };

  const Individual& tournament() {
    const Individual& a = population_[rng_.below(population_.size())];
    const Individual& b = population_[rng_.below(population_.size())];
    return a.latency_us <= b.latency_us ? a : b;
  }

  Rng rng_;
  std::vector<Individual> population_;
};

}  // namespace

std::unique_ptr<Strategy> make_genetic(const Space& space, std::uint64_t seed) {
  return std::make_unique<GeneticStrategy>(space, seed);
}

}  // namespace evo
