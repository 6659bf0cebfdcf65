#include <iterator>
#include <memory>
#include <unordered_map>
#include <utility>
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
    leader_ = latest_;
  }

  std::optional<Proposal> ask() override {
    if (ledger_.exhausted()) return std::nullopt;
    if (latest_->stalled()) {
      end_climb();
      start_climb();
    }
    const std::shared_ptr<EvolveClimb>& climb = climb_in_turn();
    Proposal proposal = climb->ask();
    climb_of_[proposal.ticket] = climb;
    return proposal;
  }

  void tell(const Answer& answer) override {
    Point point = ledger_.settle(answer);
    const auto asked_by = climb_of_.extract(answer.ticket);
    (asked_by ? asked_by.mapped() : latest_)->tell(std::move(point), answer);
  }

 private:
  void start_climb() {
    std::vector<Point> known = peaks_;
    if (leader_) append(known, leader_->peaks());
    latest_ = std::make_shared<EvolveClimb>(space_, encoding_, tuning_, ledger_, rng_, std::move(known));
  }

  /// The better one leads from here on. Of the other only its peaks are kept, and itself until its last
  /// answer is in.
  void end_climb() {
    if (latest_ == leader_) return;
    if (latest_->best() < leader_->best()) std::swap(latest_, leader_);
    append(peaks_, latest_->peaks());
  }

  static void append(std::vector<Point>& points, std::vector<Point> more) {
    points.insert(points.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }

  const std::shared_ptr<EvolveClimb>& climb_in_turn() {
    if (leader_ == latest_ || ++asked_since_leader_ < tuning_.leader) return latest_;
    asked_since_leader_ = 0;
    return leader_;
  }

  const EvolveTuning tuning_;
  Rng rng_;
  Encoding encoding_;
  std::shared_ptr<EvolveClimb> latest_;
  std::shared_ptr<EvolveClimb> leader_;                                       // the best so far
  std::vector<Point> peaks_;                                                  // of climbs that are over
  std::unordered_map<std::uint64_t, std::shared_ptr<EvolveClimb>> climb_of_;  // by ticket in flight
  std::size_t asked_since_leader_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_evolve(const Space& space, std::uint64_t seed, const EvolveTuning& tuning) {
  return std::make_unique<EvolveStrategy>(space, seed, tuning);
}

}  // namespace evo
