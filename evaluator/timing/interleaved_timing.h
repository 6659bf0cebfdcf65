#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/task/candidate.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/judge/cases.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// One candidate with its compiled programs, in order.
struct BuiltCandidate {
  const Candidate* candidate = nullptr;
  std::vector<Binary> binaries;
  bool at_full_clock = false;  ///< It was timed before on a device of this model, which kept its full clock.
};

/// Latencies of candidates that were timed interleaved.
struct InterleavedTimings {
  bool modelled = false;
  bool long_turns = false;  ///< In the last round.
  /// By candidate: the objective in each round. Round i of one candidate pairs with round i of another: they were
  /// measured one after the other.
  std::vector<std::vector<double>> rounds_us;
  std::vector<std::optional<std::string>> failures;  ///< By candidate: why it could not be timed.
  int throttled = 0;                                 ///< Samples taken under lowered clocks.
};

/// Asked after each round, on a thread of the pipeline, whether it was the last. Empty: every round is run.
using EnoughRounds = std::function<bool(const InterleavedTimings& so_far)>;

/// Times each candidate once in each round, with one worker, in an order that is drawn anew for every round. What
/// changes on the machine meanwhile (heat, neighbours) then changes the latencies of all candidates alike.
///
/// In the first round each timing first runs until the clocks have settled, and lasts longer than they swing. The same
/// holds in later rounds while a power limit lowers the clocks, because each kernel lowers them as much as it draws.
/// Once the GPU keeps its full clock, timings are short; from the first round on where it is known to do so with each.
/// With options.turn_s each lasts so long, and the mean of its samples counts instead of their median; in a search
/// (options.competing) all that are not known to keep the full clock last a second. A device that models its latencies
/// gets one round, since all rounds would be equal. Throws Stopped and machine_error as Validation does.
InterleavedTimings time_interleaved(const PipelineOptions& options, const CasePlan& plan, WorkerClient& device,
                                    const std::vector<BuiltCandidate>& candidates, int rounds,
                                    const EnoughRounds& enough);

}  // namespace evo
