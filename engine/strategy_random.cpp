#include <string>
#include <unordered_map>
#include <unordered_set>

#include "engine/strategies.h"

namespace evo {
namespace {

/// Uniform without repeats: the baseline. A Fisher-Yates shuffle of all indices of the space that stores only
/// what it has moved; a space too large to index is sampled, and repeats are drawn again.
class RandomStrategy : public Strategy {
 public:
  RandomStrategy(const Space& space, std::uint64_t seed) : space_(space), rng_(seed) {}

  std::optional<Proposal> ask() override {
    if (space_.size() == Space::kSaturated) return proposal(sample_unseen());
    if (asked_ == space_.size()) return std::nullopt;
    const std::uint64_t drawn = asked_ + rng_.below(space_.size() - asked_);
    const std::uint64_t index = moved_to(drawn);
    moved_[drawn] = moved_to(asked_);
    moved_.erase(asked_);
    return proposal(space_.at(index));
  }

  void tell(const Answer&) override {}

 private:
  std::uint64_t moved_to(std::uint64_t place) const {
    const auto found = moved_.find(place);
    return found == moved_.end() ? place : found->second;
  }

  Genome sample_unseen() {
    while (true) {
      Genome genome = space_.sample(rng_);
      if (seen_.insert(to_text(genome)).second) return genome;
    }
  }

  Proposal proposal(Genome genome) { return {asked_++, std::move(genome), "random", {}}; }

  const Space& space_;
  Rng rng_;
  std::uint64_t asked_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> moved_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const Space& space, std::uint64_t seed) {
  return std::make_unique<RandomStrategy>(space, seed);
}

}  // namespace evo
