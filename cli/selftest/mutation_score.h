#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/result/evaluation.h"
#include "engine/source/source_mutation.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// The result of one generated mutant.
struct MutantOutcome {
  enum class Kind {
    killed,       ///< Validation rejected it.
    survived,     ///< It was accepted although it computes something else.
    equivalent,   ///< At every listed shape each of its outputs has exactly the error of its original's.
    as_accurate,  ///< It rounds in another order, and errs at most a tenth more than its original in any case: it is
                  ///< right.
    stillborn,    ///< It does not compile, or compiles to the same program.
  };
  Kind kind = Kind::killed;
  std::string family;
  SourceMutation mutation;
  std::string before, after;  ///< The line of the source.
  Verdict verdict = Verdict::harness_failed;
  std::string reason;
  std::string would_kill;  ///< For survivors: where it differs most from the honest kernel.
};

struct MutationScore {
  std::string task;
  DeviceInfo device;
  std::uint64_t seed = 0;
  std::vector<MutantOutcome> mutants;

  std::size_t count(MutantOutcome::Kind kind) const {
    return static_cast<std::size_t>(std::ranges::count(mutants, kind, &MutantOutcome::kind));
  }
  /// Of those that are killed or survived.
  double share_killed() const;
  /// The 95 % interval of that share (Wilson, 1927).
  std::pair<double, double> interval() const;
};

/// Makes `count` mutants of the first legal genome of each family, at places drawn with `seed`, and evaluates them as a
/// search would. A family whose first genome is not valid is left out; throws usage_error when all are.
MutationScore score_validation(const SourceTree& tree, const Task& task, const DeviceInfo& device, std::size_t count,
                               std::uint64_t seed);

}  // namespace evo::cli
