#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/record/record.h"
#include "engine/task/family.h"
#include "engine/task/task.h"

namespace evo {

/// The goal of a run, the same for all of its candidates.
struct Target {
  Bindings options;  ///< Every option of the task has a value.
  std::vector<Shape> timed;
  std::vector<Shape> validated;       ///< Restricted to specialisations that occur in `timed`.
  std::string objective = "latency";  ///< One of the task's: which limits its candidates keep. Or two of them (task.h).
  std::vector<std::string> skipped = {};  ///< Listed shapes that are not validated, each with the reason.
};

/// What was skipped is for people alone.
EVO_FIELDS(Target, objective, options, timed, validated);

/// The error limits of the target's objective, which every validated case must keep. Throws usage_error when the task
/// has no such objective.
const Limits& limits_of(const Task& task, const Target& target);

/// Resolves options and shape sets. `device_kind` is the name of one. Each of `shapes` is anything that parse_shape
/// reads; without any, the task's own for that kind are timed, or its first shape. `options` override the task's
/// defaults. An empty `objective` means the task's first. Timed shapes are validated too. Throws usage_error for
/// unknown names.
Target make_target(const Task& task, std::string_view device_kind, const std::vector<std::string>& shapes,
                   const Bindings& options, std::string_view objective = {});
/// The same for a self-test, which times the shapes that the task names for it (ShapeSets::self_test).
Target make_self_test_target(const Task& task, std::string_view device_kind, const Bindings& options,
                             std::string_view objective = {});

/// Adds the shapes that the task validates by default on this kind of device: those of its set, else every shape. Some
/// shapes are left out, with a reason in `skipped`: those with a specialisation that no timed one has, those that
/// `requires` excludes under the options, and, without a set, those that are too much work for the device.
void add_default_validation(const Task& task, std::string_view device_kind, Target& target);

/// The distinct values of the specialised parameters among the target's timed shapes.
std::vector<Bindings> specialisations_of(const Task& task, const Target& target);

/// The target's shapes of one specialisation, timed ones first, each once.
std::vector<Shape> shapes_of(const Task& task, const Target& target, const Bindings& specialisation);

/// Leaves out the constraints that are not meant for the target: those of other objectives, and of shapes that are
/// neither timed nor validated.
void keep_constraints_of(const Target& target, Family& family);

}  // namespace evo
