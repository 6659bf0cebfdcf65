#include <cmath>

#include "engine/space/variation.h"
#include "engine/strategy/space_strategy.h"
#include "engine/strategy/strategies.h"

namespace evo {
namespace {

constexpr double kHottest = 0.3;     // in logarithms of latency: a step 30 % slower is taken with probability 1/e
constexpr double kCooling = 0.98;    // with each answer
constexpr int kPatience = 60;        // answers without a move, then it heats up again from the best
constexpr int kNeighbourDraws = 12;  // for a neighbour not asked before

/// Simulated annealing on the logarithm of the latency, so that its temperature needs no scale.
class AnnealingStrategy : public SpaceStrategy {
 public:
  AnnealingStrategy(const Space& space, std::uint64_t seed) : SpaceStrategy(space), rng_(seed) {}

  std::optional<Proposal> ask() override {
    if (ledger_.exhausted()) return std::nullopt;
    if (current_) {
      Genome genome = current_->genome;
      for (int draw = 0; draw < kNeighbourDraws; ++draw) {
        // When a neighbour was asked before, the walk goes on from it.
        genome = rng_.below(2) == 0 ? step_neighbour(space_, genome, rng_) : mutate_one(space_, genome, rng_);
        Point point = space_.point(genome);
        if (!ledger_.asked(point)) return ledger_.propose(std::move(point), "neighbour", {current_->ticket});
      }
    }
    return ledger_.propose(ledger_.draw(rng_), "random", {});
  }

  void tell(const Answer& answer) override {
    const Point point = ledger_.settle(answer);
    temperature_ *= kCooling;
    ++still_;
    if (answer.latency_us) {
      const State reached{answer.ticket, space_.genome(point), std::log(*answer.latency_us)};
      if (!best_ || reached.log_latency < best_->log_latency) best_ = reached;
      if (!current_ || rng_.unit() < std::exp((current_->log_latency - reached.log_latency) / temperature_)) {
        current_ = reached;
        still_ = 0;
      }
    }
    if (still_ >= kPatience && best_) {
      current_ = best_;
      temperature_ = kHottest;
      still_ = 0;
    }
  }

  /// The walk goes on from the best that is left.
  void retract(const Answer& failure) override {
    const auto is_it = [&](const std::optional<State>& state) { return state && state->ticket == failure.ticket; };
    if (is_it(best_)) best_ = is_it(current_) ? std::nullopt : current_;
    if (is_it(current_)) current_ = best_;
  }

 private:
  struct State {
    std::uint64_t ticket = 0;
    Genome genome;
    double log_latency = 0;
  };

  Rng rng_;
  std::optional<State> current_;
  std::optional<State> best_;
  double temperature_ = kHottest;
  int still_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_annealing(const Space& space, std::uint64_t seed) {
  return std::make_unique<AnnealingStrategy>(space, seed);
}

}  // namespace evo
