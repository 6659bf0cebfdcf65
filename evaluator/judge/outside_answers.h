#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/task/calibration.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/judge/cases.h"
#include "evaluator/judge/noise_floor.h"
#include "evaluator/judge/oracle.h"

namespace evo {

/// What a program outside of the pipeline answered to one case.
struct OutsideAnswer {
  double relative_l2 = 0;            ///< The largest of its outputs that count.
  std::optional<Mismatch> mismatch;  ///< Of the first output that is wrong; empty for a right answer.
  bool set_aside = false;            ///< An output does not count: rounding alone explains its error.
};

/// A plan of the outputs that a task has for a shape, dense and in its order, and of nothing else.
Plan outputs_plan(const Task& task, const Bindings& options, const Shape& shape);

/// Judges answers that no candidate of a pipeline has given, by the reference and the limits of candidates, on the
/// cases that candidates are timed on. References run in workers of its own. Used by one thread.
class OutsideAnswers {
 public:
  /// The cases are those of a pipeline with these options. Throws usage_error for a task whose limits cannot be read.
  explicit OutsideAnswers(PipelineOptions options);

  const CasePlan& cases() const { return plan_; }
  /// `outputs`: every output of `plan` that is there, in its order, as `plan` lays them out. Throws usage_error when
  /// the reference is at fault, machine_error when the machine is.
  OutsideAnswer judge(const Case& one, const Plan& plan, std::span<const std::byte> outputs);
  /// As ExtraOracles::rest.
  void rest();

 private:
  PipelineOptions options_;
  std::optional<Calibration> calibration_;
  CasePlan plan_;
  ExtraOracles oracles_;
  OracleStore ordinary_;  ///< The same, of the plan's cases.
  NoiseFloor floor_;
};

}  // namespace evo
