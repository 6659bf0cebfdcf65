#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/search/search.h"
#include "engine/strategy/strategy.h"
#include "evaluator/base/stopwatch.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {

/// How the devices of a run spent the search's time: seconds, added up over the devices.
struct RunTimes {
  std::size_t devices = 1;
  double search_s = 0;     ///< From the first proposal to the last result; not added up.
  LaneTimes lanes;         ///< Its idle_s has the next three in it.
  double modelling_s = 0;  ///< Idle, because the next candidates were being chosen by their modelled latencies.
  double settling_s = 0;   ///< Idle, because another device made the last comparisons.
  double checking_s = 0;   ///< Idle, because further checks of elites were waited for.
};

/// Measures RunTimes, between a search and what it uses.
class RunClock {
 public:
  /// The pipeline must live longer.
  explicit RunClock(DevicePipeline& pipeline) : pipeline_(pipeline), begin_(pipeline.times()) {}
  /// The same strategy and archive, measured. The originals and this clock must outlive them.
  std::unique_ptr<Strategy> measured(Strategy& strategy);
  std::unique_ptr<Archive> measured(Archive& archive);
  /// Up to now.
  RunTimes times();

 private:
  class MeasuredStrategy;
  class MeasuredArchive;
  class IdleDuring;

  DevicePipeline& pipeline_;
  LaneTimes begin_;
  Stopwatch watch_;
  double modelling_s_ = 0;
  double settling_s_ = 0;
  double checking_s_ = 0;
};

/// The largest part: "validation", "timing", "comparisons", "checks", "compiling", "modelling" or "idle"; empty for no
/// time at all.
std::string bound_by(const RunTimes& times);
nlohmann::ordered_json times_json(const RunTimes& times);
/// One line, or none.
std::string times_text(const RunTimes& times);

}  // namespace evo::cli
