#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/judge/cases.h"
#include "evaluator/judge/oracle.h"
#include "evaluator/pipeline/case_judge.h"

namespace evo {

/// A CUDA source whose doubles are floats, literals too.
std::string in_single_precision(const std::string& source);
/// One whose local variables of float that are initialised, declared alone or arrays are doubles; not its parameters.
std::string in_double_precision(const std::string& source);

/// What arithmetic in single precision errs by on single cases, of tasks without an emulation: the difference between
/// the task's reference and the same with its doubles as floats, or with its floats as doubles. Limits were meant for
/// usual inputs; where plain sums of floats break them, as over rows of thousands of equal numbers, a kernel that errs
/// as much is not wrong.
///
/// A limit of f32 below half of the usual one promises more than plain sums: at the listed sizes it holds on all
/// inputs. Used by one thread.
class HonestArithmetic {
 public:
  /// Everything must outlive it. `exact`: of the reference.
  HonestArithmetic(const PipelineOptions& options, const CasePlan& plan, ExtraOracles& exact);
  ~HonestArithmetic();

  /// Whether every output that breaks its limits errs as honest arithmetic does. Throws where the machine fails.
  bool explains(const Case& one, const ComparedCase& compared);

 private:
  struct Other;
  bool explains(const Case& one, const ComparedCase& compared, const Expected& honest) const;
  bool explains(const Case& one, const ComparedOutput& output, const ExpectedOutput& exact,
                const ExpectedOutput& honest, std::size_t number) const;
  bool keeps_limits_on_usual_inputs(Other& other);
  bool promises_more(const Case& one, std::size_t output) const;

  const PipelineOptions& options_;
  const CasePlan& plan_;
  ExtraOracles& exact_;
  std::vector<std::unique_ptr<Other>> others_;  ///< The reference in other precisions.
};

}  // namespace evo
