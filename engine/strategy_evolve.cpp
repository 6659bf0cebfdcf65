#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/evolve_climb.h"
#include "engine/space_strategy.h"
#include "engine/strategies.h"

namespace evo {
namespace {

/// Climbs, one after another: where one has stalled, another starts from founders of its own, far from the
/// peaks known, while the best so far still gets every so many asks. So a climb that settled early in the
/// wrong place is not the last word.
class EvolveStrategy : public SpaceStrategy {
 public:
  EvolveStrategy(const Space& space, std::uint64_t seed, const EvolveTuning& tuning)
      : SpaceStrategy(space), tuning_(tuning), rng_(seed), encoding_(space) {
    start_climb();
  }

  std::optional<Proposal> ask() override {
    if (ledger_.exhausted()) return std::nullopt;
    if (climbs_.back()->stalled()) {
      if (climbs_.back()->best() < climbs_[leader_]->best()) leader_ = climbs_.size() - 1;
      start_climb();
    }
    const std::size_t climb = climb_in_turn();
    Proposal proposal = climbs_[climb]->ask();
    climb_of_[proposal.ticket] = climb;
    return proposal;
  }

  void tell(const Answer& answer) override {
    Point point = ledger_.settle(answer);
    const auto asked_by = climb_of_.extract(answer.ticket);
    climbs_[asked_by ? asked_by.mapped() : climbs_.size() - 1]->tell(std::move(point), answer);
  }

 private:
  void start_climb() {
    std::vector<Point> peaks;
    for (const auto& climb : climbs_) {
      for (Point& peak : climb->peaks()) peaks.push_back(std::move(peak));
    }
    climbs_.push_back(
        std::make_unique<EvolveClimb>(space_, encoding_, tuning_, ledger_, rng_, std::move(peaks)));
  }

  std::size_t climb_in_turn() {
    const std::size_t latest = climbs_.size() - 1;
    if (leader_ == latest || ++asked_since_leader_ < tuning_.leader) return latest;
    asked_since_leader_ = 0;
    return leader_;
  }

  const EvolveTuning tuning_;
  Rng rng_;
  Encoding encoding_;
  std::vector<std::unique_ptr<EvolveClimb>> climbs_;
  std::unordered_map<std::uint64_t, std::size_t> climb_of_;  // by ticket in flight
  std::size_t leader_ = 0;
  std::size_t asked_since_leader_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_evolve(const Space& space, std::uint64_t seed, const EvolveTuning& tuning) {
  return std::make_unique<EvolveStrategy>(space, seed, tuning);
}

}  // namespace evo
