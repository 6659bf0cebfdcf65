#include <unordered_map>

#include "engine/strategy/space_strategy.h"
#include "engine/strategy/strategies.h"

namespace evo {
namespace {

/// Uniform without repeats: the baseline. A Fisher-Yates shuffle of all indices of the space that stores only
/// what it has moved; a space too large to index is sampled, and repeats are drawn again.
class RandomStrategy : public SpaceStrategy {
 public:
  RandomStrategy(const Space& space, std::uint64_t seed) : SpaceStrategy(space), rng_(seed) {}

  std::optional<Proposal> ask() override {
    if (ledger_.exhausted()) return std::nullopt;
    Point point = draw();
    while (ledger_.asked(point)) point = draw();
    return ledger_.propose(std::move(point), "random", {});
  }

  void tell(const Answer& answer) override { ledger_.settle(answer); }

 private:
  Point draw() {
    if (space_.size() == Space::kSaturated) return space_.sample_point(rng_);
    const std::uint64_t drawn = dealt_ + rng_.below(space_.size() - dealt_);
    const std::uint64_t index = moved_to(drawn);
    moved_[drawn] = moved_to(dealt_);
    moved_.erase(dealt_++);
    return space_.point_at(index);
  }

  std::uint64_t moved_to(std::uint64_t place) const {
    const auto found = moved_.find(place);
    return found == moved_.end() ? place : found->second;
  }

  Rng rng_;
  std::uint64_t dealt_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> moved_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const Space& space, std::uint64_t seed) {
  return std::make_unique<RandomStrategy>(space, seed);
}

}  // namespace evo
