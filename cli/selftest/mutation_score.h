#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/result/evaluation.h"
#include "engine/task/genome.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"

namespace evo::cli {

/// The result of one generated mutant.
struct MutantOutcome {
  enum class Kind {
    killed,       ///< Validation rejected it.
    survived,     ///< It was accepted although it computes something else, or rounds ties otherwise.
    equivalent,   ///< At every listed shape each of its outputs has exactly the error of its original's.
    as_accurate,  ///< It rounds in another order, and errs at most a tenth more than its original in any case: it is
                  ///< right.
    no_change,    ///< The machine code of what is launched is its original's.
    repeated,     ///< It compiles to the program of an earlier mutant.
    not_built,    ///< There is no program that the device can run, or the machine failed.
  };
  Kind kind = Kind::killed;
  std::string operation;      ///< "< becomes <=".
  std::string file;           ///< Of the templates; empty: unknown.
  std::size_t line = 0;       ///< Of that file, else of the rendered source.
  Genome genome;              ///< In which it was killed or survived; else that in which it was tried first.
  std::size_t genomes = 1;    ///< In so many it ran.
  std::string before, after;  ///< The line as rendered.
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

/// Makes mutants of each family until `count` of them ran, and evaluates them as a search would. A few genomes
/// with different alleles are drawn with `seed`, and so are the places that are changed, in code that the compiler made
/// instructions of. A mutant that is right in its genome is tried in the others that have its place.
/// A genome that is not valid itself is left out; throws usage_error when all are.
MutationScore score_validation(const SourceTree& tree, const Task& task, const DeviceInfo& device, std::size_t count,
                               std::uint64_t seed);

}  // namespace evo::cli
