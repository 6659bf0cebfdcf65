#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/task/task.h"
#include "evaluator/base/statistics.h"
#include "evaluator/pipeline/pipeline.h"
#include "population/store/store.h"

namespace evo::cli {

/// One candidate, compared with the first.
struct ComparisonRow {
  CandidateId candidate = 0;
  double median_us = 0;  ///< Of its rounds; 0 when it failed.
  std::vector<double> rounds_us = {};
  std::optional<PairedRatio> against =
      {};  ///< Its latency over the first one's; empty for the first, and for failures.
  std::string failure = {};
};

struct Comparison {
  std::string task;
  DeviceInfo device;
  std::string objective;
  bool modelled = false;
  int rounds = 0;
  int throttled = 0;
  std::vector<ComparisonRow> rows;
};

/// The comparison of each candidate with the first, from interleaved timings.
Comparison comparison_of(const std::vector<CandidateId>& ids, const InterleavedTimings& timings);

}  // namespace evo::cli
