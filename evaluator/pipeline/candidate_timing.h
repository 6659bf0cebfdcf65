#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/device/device_kind.h"
#include "evaluator/pipeline/candidate_worker.h"
#include "evaluator/pipeline/case_judge.h"
#include "evaluator/pipeline/validation_setup.h"
#include "evaluator/timing/ranked_timings.h"

namespace evo {

/// Times one candidate at every timed shape, and judges the outputs of the timed launches.
class CandidateTiming {
 public:
  /// Everything must outlive it. `evaluation` is given the timings. `to_beat`: as Validation has it.
  CandidateTiming(const ValidationSetup& setup, const Candidate& candidate, CandidateWorker& worker, CaseJudge& judge,
                  const std::optional<ToBeat>& to_beat, Evaluation& evaluation)
      : setup_(setup),
        kind_(kind_named(setup.options.device.kind)),
        candidate_(candidate),
        worker_(worker),
        judge_(judge),
        to_beat_(to_beat),
        evaluation_(evaluation) {}

  /// First all warm; then, of one that may become an elite, the search for skipped work, and all cold.
  std::optional<Failure> measure();
  /// Geometric mean of the warm medians so far.
  double objective() const;

 private:
  std::optional<Failure> measure(const TimedShape& timed, bool cold);
  std::optional<Failure> look_for_skips(const TimedShape& timed, double call_us);
  TimingRequest timing_request(bool cold) const;
  std::optional<Failure> recheck(const TimedShape& timed, std::span<const std::size_t> rotation,
                                 const protocol::Timed& reply, std::uint64_t set_bytes);

  const ValidationSetup& setup_;
  const DeviceKind& kind_;
  const Candidate& candidate_;
  CandidateWorker& worker_;
  CaseJudge& judge_;
  const std::optional<ToBeat>& to_beat_;
  Evaluation& evaluation_;
};

}  // namespace evo
