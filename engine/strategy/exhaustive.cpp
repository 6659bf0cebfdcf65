#include "engine/base/error.h"
#include "engine/strategy/space_strategy.h"
#include "engine/strategy/strategies.h"

namespace evo {
namespace {

class ExhaustiveStrategy : public SpaceStrategy {
 public:
  explicit ExhaustiveStrategy(const Space& space) : SpaceStrategy(space) {
    if (space.size() == Space::kSaturated)
      throw usage_error("strategy exhaustive: the space has too many genomes to be listed; choose another strategy");
  }

  std::optional<Proposal> ask() override {
    while (next_ < space_.size()) {
      Point point = space_.point_at(next_++);
      if (!ledger_.asked(point)) return ledger_.propose(std::move(point), "next", {});
    }
    return std::nullopt;
  }

  void tell(const Answer& answer) override { ledger_.settle(answer); }

 private:
  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const Space& space) {
  return std::make_unique<ExhaustiveStrategy>(space);
}

}  // namespace evo
