#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// A timed shape and the cases whose inputs fill the buffers used in turn.
struct TimedShape {
  Shape shape;
  std::vector<std::size_t> rotation;  ///< Indices of cases.
  /// Another case of the shape, run after timing in the buffers that were timed; none where there is no other.
  std::optional<std::size_t> afterwards = std::nullopt;
};

/// Which cases a candidate must pass, in the order they are run.
struct CasePlan {
  std::vector<Case> cases;
  std::size_t smoke = 0;              ///< The cheapest case: run first.
  std::vector<std::size_t> repeated;  ///< Run several times; outputs must agree bitwise.
  std::vector<TimedShape> timed;
};

/// The work of one call in flops, with 8 for each compulsory byte so that tasks that only move data count too.
double work_of(const Task& task, const Bindings& options, const Shape& shape);

/// What the whole grid may cost for one candidate, in the unit of work_of. The virtual GPU interprets roughly 1 GFLOP
/// of tensor-core work a second; on a GPU the limit is the oracle, computed once by a plain kernel in double precision.
inline constexpr double kGridWorkVgpu = 1.2e9;
inline constexpr double kGridWorkCuda = 8e12;

/// Chooses the cases. Each shape gets an equal part of the device kind's grid work:
/// - a shape whose part pays for seeds x regimes gets the full product;
/// - others get as many as it pays for, at least two, in an order in which every regime comes before any comes twice,
///   the seeds turn, and the two most telling regimes come first: the task's first one and the one of largest gain
///   (peaked inputs show skipped work);
/// - the cheapest shape covers at least every regime and every seed;
/// - a timed shape has one more seed of the first regime where the GPU's timing turns between two sets of buffers (up
/// to
///   128 MiB of inputs; larger ones leave every cache by themselves).
/// The order of all cases is shuffled by the salt.
CasePlan plan_cases(const Task& task, const Target& target, std::string_view device_kind, std::uint64_t salt);

/// `count` cases like `one` with seeds that the plan does not have.
std::vector<Case> more_cases(const Task& task, const Target& target, const Case& one, std::uint64_t salt, int count);

}  // namespace evo
