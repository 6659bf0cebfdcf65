#include "engine/strategy/space_strategy.h"
#include "engine/strategy/strategies.h"

namespace evo {
namespace {

/// Hill climbing: tries the neighbours of the current genome in random order and moves to the first that is faster.
/// When none is, it starts again from a random genome.
class LocalStrategy : public SpaceStrategy {
 public:
  LocalStrategy(const Space& space, std::uint64_t seed) : SpaceStrategy(space), rng_(seed) {}

  std::optional<Proposal> ask() override {
    if (ledger_.exhausted()) return std::nullopt;
    while (!untried_.empty()) {
      Point point = std::move(untried_.back());
      untried_.pop_back();
      if (!ledger_.asked(point)) return ledger_.propose(std::move(point), "neighbour", {ticket_});
    }
    // The first valid answer from now on is where the next climb starts.
    climbing_ = false;
    return ledger_.propose(ledger_.draw(rng_), "random", {});
  }

  void tell(const Answer& answer) override {
    const Point point = ledger_.settle(answer);
    if (!answer.latency_us || (climbing_ && *answer.latency_us >= latency_us_)) return;
    climbing_ = true;
    ticket_ = answer.ticket;
    latency_us_ = *answer.latency_us;
    untried_.clear();
    for (std::size_t gene = 0; gene < point.alleles.size(); ++gene) {
      for (Point& neighbour : space_.neighbours(point, gene, Space::Step::any))
        untried_.push_back(std::move(neighbour));
    }
    for (std::size_t i = untried_.size(); i > 1; --i) std::swap(untried_[i - 1], untried_[rng_.below(i)]);
  }

  /// Another climb begins.
  void retract(const Answer& failure) override {
    if (climbing_ && failure.ticket == ticket_) untried_.clear();
  }

 private:
  Rng rng_;
  bool climbing_ = false;
  std::uint64_t ticket_ = 0;  // of the current genome
  double latency_us_ = 0;
  std::vector<Point> untried_;  // its neighbours
};

}  // namespace

std::unique_ptr<Strategy> make_local(const Space& space, std::uint64_t seed) {
  return std::make_unique<LocalStrategy>(space, seed);
}

}  // namespace evo
