#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "engine/strategy/evolve_climb.h"
#include "engine/strategy/space_strategy.h"
#include "engine/strategy/strategies.h"

namespace evo {
namespace {

/// Runs climbs one after another. When one has stalled, the next starts from founders of its own, far from the known
/// peaks, so that a climb that ended in a poor local optimum does not end the search.
class EvolveStrategy : public SpaceStrategy {
 public:
  EvolveStrategy(const Space& space, std::uint64_t seed, const EvolveTuning& tuning)
      : SpaceStrategy(space), tuning_(tuning), rng_(seed), encoding_(space) {
    start_climb();
  }

  std::optional<Proposal> ask() override {
    if (ledger_.exhausted()) return std::nullopt;
    if (climb_->stalled()) start_climb();
    return climb_->ask();
  }

  void tell(const Answer& answer) override {
    Point point = ledger_.settle(answer);
    // Answers to the previous climb would draw this one to the same peak.
    if (answer.ticket >= first_ticket_) climb_->tell(std::move(point), answer);
  }

  void retract(const Answer& failure) override {
    if (failure.ticket >= first_ticket_) climb_->retract(failure);
  }

 private:
  void start_climb() {
    if (climb_) std::ranges::move(climb_->peaks(), std::back_inserter(peaks_));
    climb_ = std::make_unique<EvolveClimb>(space_, encoding_, tuning_, ledger_, rng_, peaks_);
    first_ticket_ = ledger_.next_ticket();
  }

  const EvolveTuning tuning_;
  Rng rng_;
  const Encoding encoding_;
  std::unique_ptr<EvolveClimb> climb_;
  std::uint64_t first_ticket_ = 0;  // of the climb
  std::vector<Point> peaks_;        // of climbs that are over
};

}  // namespace

std::unique_ptr<Strategy> make_evolve(const Space& space, std::uint64_t seed, const EvolveTuning& tuning) {
  return std::make_unique<EvolveStrategy>(space, seed, tuning);
}

}  // namespace evo
