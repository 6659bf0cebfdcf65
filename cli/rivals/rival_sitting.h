#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/rivals/rival_process.h"
#include "cli/subject/restore.h"
#include "evaluator/device/device.h"
#include "population/store/store.h"

namespace evo::cli {

struct SittingRequest {
  Restored candidate;
  DeviceInfo device;
  std::vector<RivalCommand> commands;
  int rounds = 21;
  double turn_s = 0;                               ///< Of each program in a round (PipelineOptions); 0: short ones.
  double deadline_s = 120;                         ///< For each answer of a rival.
  std::function<void(const std::string&)> notice;  ///< Given a line for each rival that fails or refuses.
  std::function<bool()> ends = {};                 ///< Whether the user wants the end. May be empty.
};

/// Has every rival of the commands answer to the inputs that the candidate is timed on, judges the answers, then times
/// candidate and rivals in turns: in each round the candidate, and after it each rival in a new random order. A rival
/// that fails does not disturb the others. Throws LineInterrupted when the user wants the end, usage_error and
/// machine_error as a pipeline does.
Sitting hold_sitting(const SittingRequest& request);

}  // namespace evo::cli
