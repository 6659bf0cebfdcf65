#pragma once

#include <future>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/result/profile.h"
#include "engine/task/candidate.h"
#include "evaluator/worker/protocol.h"

namespace evo {

/// What the cost model predicts for a program at one shape.
struct Forecast {
  double latency_us = 0;                ///< Of one warm call.
  std::vector<LaunchProfile> launches;  ///< Of that call.
  Build build;
};

using ModelResult = std::variant<Forecast, Failure>;

/// What an answer says of a program.
ModelResult result_of(protocol::Modelled modelled);

/// A program that is to be modelled (helping_host.h).
struct ModelJob {
  using Answer = protocol::Modelled;
  static constexpr std::string_view kDoes = "models";

  protocol::Model request;
  std::promise<ModelResult> result;
  bool tried_elsewhere = false;  ///< Another host has not answered it: it is done on this one.

  const protocol::Compile& program() const { return request.compile; }
  static const Failure* failure_in(const Answer& answer) { return answer.failure ? &*answer.failure : nullptr; }
  static ModelResult result_of(Answer answer) { return evo::result_of(std::move(answer)); }
};

}  // namespace evo
