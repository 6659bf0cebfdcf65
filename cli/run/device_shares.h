#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/run/run_setup.h"
#include "engine/result/evaluation.h"
#include "evaluator/base/statistics.h"
#include "evaluator/pipeline/pipeline.h"
#include "population/store/store.h"

namespace evo::cli {

/// One device's share of a run.
struct DeviceShare {
  RanOn place;
  std::uint64_t evaluated = 0;
  std::uint64_t machine_failed = 0;  ///< Of these, those that the machine failed.
  std::optional<PairedRatio> ratio;  ///< Its latency of one kernel over that of the first device.
  std::string why_no_ratio = {};
};

struct DeviceShares {
  std::vector<DeviceShare> devices;  ///< Those on which candidates ran, by host and device.
  CandidateId timed = 0;             ///< The kernel that was timed on each; 0: none.
};

/// With several GPUs the fastest elite of the run's board is timed on all of them at once. `pipeline`: with those of
/// the run, idle; null: nothing is timed.
DeviceShares device_shares(const Store& store, RunId id, const PreparedRun& run, DevicePipeline* pipeline);

/// Lines about the devices of a run on several; empty for one.
std::string shares_text(const DeviceShares& shares);

}  // namespace evo::cli
