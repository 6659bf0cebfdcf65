#pragma once

#include <utility>

#include "engine/strategy/ledger.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// The base of all strategies: a ledger over their space, which also holds the genomes that others choose.
class SpaceStrategy : public Strategy {
 public:
  std::optional<Proposal> offer(const Genome& genome, std::string op, std::vector<std::uint64_t> parents) override {
    Point point = space_.point(genome);
    if (ledger_.asked(point)) return std::nullopt;
    return ledger_.propose(std::move(point), std::move(op), std::move(parents));
  }

 protected:
  explicit SpaceStrategy(const Space& space) : space_(space), ledger_(space) {}

  const Space& space_;
  Ledger ledger_;
};

}  // namespace evo
