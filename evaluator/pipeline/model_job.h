#pragma once

#include <future>
#include <variant>
#include <vector>

#include "engine/task/candidate.h"
#include "engine/task/profile.h"
#include "evaluator/worker/protocol.h"

namespace evo {

/// What the cost model predicts for a program at one shape.
struct Forecast {
  double latency_us = 0;                ///< Of one warm call.
  std::vector<LaunchProfile> launches;  ///< Of that call.
  Build build;
};

using ModelResult = std::variant<Forecast, Failure>;

/// A program that is to be modelled.
struct ModelJob {
  protocol::Model request;
  std::promise<ModelResult> result;
  bool tried_elsewhere = false;  ///< Another host has not answered it: it is done on this one.
};

/// What an answer says of a program.
ModelResult result_of(protocol::Modelled modelled);

}  // namespace evo
