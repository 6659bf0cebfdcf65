#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "engine/strategy.h"

namespace evo {

/// Foretells latencies without a device. Implementations: the virtual GPU's cost model, tables, fakes.
class Foresight {
 public:
  virtual ~Foresight() = default;
  /// Of each genome in turn, in any unit that is the same for all; empty for one that is bound to fail. The
  /// same genome has the same answer each time.
  virtual std::vector<std::optional<double>> latencies(const std::vector<Genome>& genomes) = 0;
};

/// `strategy`, of whose proposals only the most promising one of every `among` is asked: that with the least
/// foretold latency. Of the others the strategy is told the foretold latency, scaled by the median of
/// measured/foretold so far, or that they failed; but those that would be the best so far stand again beside
/// the next. So its best is always measured. Genomes that others offer are not screened. `foresight` must
/// outlive it.
std::unique_ptr<Strategy> make_screened(std::unique_ptr<Strategy> strategy, Foresight& foresight,
                                        std::size_t among);

}  // namespace evo
