#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "engine/task/candidate.h"
#include "evaluator/pipeline/cases.h"
#include "evaluator/pipeline/pipeline.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// One candidate with its compiled programs, in order.
struct BuiltCandidate {
  const Candidate* candidate = nullptr;
  std::vector<Binary> binaries;
};

/// Times candidates in turns with one worker: round after round each once, in an order that is drawn anew, so that what
/// changes on the machine meanwhile (heat, neighbours) meets all alike. In the first round, and in the others where the
/// GPU has not kept its full clock (a power limit slows each as it needs), every turn warms up until the clocks are
/// those of its candidate, and lasts longer than they swing. Ends after `rounds`, or after the one that `end` says was
/// the last. On a virtual device one round says all. Throws Stopped and machine_error as Validation does.
Turns time_in_turns(const PipelineOptions& options, const CasePlan& plan, WorkerClient& device,
                    const std::vector<BuiltCandidate>& candidates, int rounds, const TurnsEnd& end);

}  // namespace evo
