#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/task/candidate.h"
#include "engine/task/task.h"
#include "evaluator/device/inputs.h"

namespace evo {

/// One validated case: shape x seed x regime.
struct Case {
  Shape shape;
  Regime regime;
  std::uint64_t seed = 0;
  CaseRecipe recipe;
};

/// A timed shape and the cases that it is timed on.
struct TimedShape {
  Shape shape;
  std::vector<std::size_t> rotation;  ///< Indices of cases; each fills one set of buffers.
  /// Another case of the shape, run in the same buffers after timing. Empty where the shape has no other case.
  std::optional<std::size_t> afterwards = std::nullopt;
};

/// Which cases a candidate must pass, in the order they are run.
struct CasePlan {
  std::vector<Case> cases;
  std::size_t smoke = 0;              ///< The cheapest case: run first.
  std::vector<std::size_t> repeated;  ///< Run several times; outputs must agree bitwise.
  std::vector<TimedShape> timed;
};

/// The cases of the rotation that this plan is timed on. Only the first where variables of the program hold inputs:
/// these are filled once for all calls.
std::span<const std::size_t> rotation_of(const TimedShape& timed, const Plan& plan);

/// Chooses the cases. Each shape gets an equal part of the device kind's grid work (DeviceKind::grid_work):
/// - a shape whose part pays for seeds x regimes gets all of them;
/// - other shapes get as many cases as their part pays for, at least two. Every regime comes before any comes twice,
///   the seeds rotate, and the two regimes that show most come first: the task's first one and the one of largest gain
///   (peaked inputs show skipped work);
/// - the cheapest shape covers at least every regime and every seed;
/// - a timed shape has one more seed of the first regime where timing alternates between two sets of buffers. That is
///   on a device that measures, up to 128 MiB of inputs: larger ones leave every cache by themselves.
/// The order of all cases is shuffled by the salt.
CasePlan plan_cases(const Task& task, const Target& target, std::string_view device_kind, std::uint64_t salt);

/// Whether one of the cases has inputs of so many bytes; 0: no.
bool has_large_inputs(const CasePlan& plan, std::uint64_t bytes);

/// `count` cases like `one` with seeds that the plan does not have.
std::vector<Case> more_cases(const Task& task, const Target& target, const Case& one, std::uint64_t salt, int count);

}  // namespace evo
