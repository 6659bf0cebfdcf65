#pragma once

#include <cstddef>
#include <vector>

#include "engine/task/target.h"
#include "engine/task/task.h"
#include "population/store/store.h"

namespace evo::cli {

/// Kernels whose shares of the floor and ancestors are shown.
inline constexpr std::size_t kShownKernels = 3;

/// What the page is about.
struct PageSubject {
  std::vector<RunRow> runs;  ///< By number.
  std::vector<std::vector<OutcomeRow>> outcomes;
  std::vector<OutcomeRow> all;
  SourceTree files;  ///< Empty: imported runs, of whose task only name and hash are known.
  Task task;
  Target target;
  DeviceRecord device;
  /// The fastest with different sources, kShownKernels at most. Elites come first: a candidate that was timed faster
  /// than an elite and is none has lost an interleaved comparison.
  std::vector<CandidateRow> best;
};

/// Throws usage_error when there is no such run, or when they are of different boards.
PageSubject page_subject(const Store& store, std::vector<RunId> runs);

/// The valid ones, the fastest first.
std::vector<OutcomeRow> by_latency(std::vector<OutcomeRow> outcomes);

}  // namespace evo::cli
