#include <fmt/format.h>

#include "engine/error.h"
#include "engine/ledger.h"
#include "engine/strategies.h"

namespace evo {
namespace {

class ExhaustiveStrategy : public Strategy {
 public:
  explicit ExhaustiveStrategy(const Space& space) : space_(space) {
    if (space.size() == Space::kSaturated)
      throw usage_error(
          "strategy exhaustive: the space has too many genomes to be listed; choose another strategy");
  }

  std::optional<Proposal> ask() override {
    if (next_ == space_.size()) return std::nullopt;
    const std::uint64_t index = next_++;
    return Proposal{index, space_.at(index), "next", {}};
  }

  void tell(const Answer&) override {}

 private:
  const Space& space_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const Space& space) {
  return std::make_unique<ExhaustiveStrategy>(space);
}

}  // namespace evo
