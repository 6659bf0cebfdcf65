#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/task/task.h"
#include "evaluator/base/statistics.h"
#include "evaluator/pipeline/pipeline.h"
#include "population/store/store.h"

namespace evo::cli {

/// One candidate beside the first one named.
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

/// Each candidate against the first one.
Comparison comparison_of(const std::vector<CandidateId>& ids, const Turns& turns);

/// Whether more rounds between a challenger and an elite would change nothing: one of the two has failed or is plainly
/// faster, or they are the same.
bool match_decided(const Turns& so_far);

/// What run() asks before an elite is displaced: on measured devices the challenger and the incumbent are timed in
/// turns, and only a challenger that is FASTER at 95 % displaces. Empty for modelled times, which are exact. Everything
/// referred to must outlive it.
EliteJudge elite_judge(const Store& store, const Task& task, const Target& target, DevicePipeline& pipeline,
                       const DeviceInfo& device);

}  // namespace evo::cli
