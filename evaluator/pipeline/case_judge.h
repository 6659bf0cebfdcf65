#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/result/evaluation.h"
#include "engine/task/candidate.h"
#include "evaluator/judge/honest_average.h"
#include "evaluator/judge/output_comparison.h"
#include "evaluator/judge/pooled_draws.h"
#include "evaluator/pipeline/validation_setup.h"

namespace evo {

/// Every output of one case, beside its oracle.
struct ComparedCase {
  bool has_right_size = false;
  std::shared_ptr<const Expected> expected;
  std::vector<ComparedOutput> outputs;
  std::vector<EmulationError> honest;  ///< By output.
};

/// Whether no element is NaN or infinite: where a reference has them, errors have no form.
bool is_finite(const ExpectedOutput& output);

/// Judges the outputs of one candidate.
class CaseJudge {
 public:
  /// Everything must outlive it. `evaluation` is given the errors.
  CaseJudge(const ValidationSetup& setup, const Candidate& candidate, Evaluation& evaluation)
      : setup_(setup),
        candidate_(candidate),
        limits_(limits_of(setup.options.task, setup.options.target)),
        evaluation_(evaluation) {}

  /// Changes nothing: several threads may compare.
  ComparedCase compare(const Case& one, std::shared_ptr<const Expected> expected, std::vector<std::byte> outputs) const;

  /// What the outputs of a case are compared for on a device that judges it, in the plan's order.
  std::vector<ComparedFor> compared_there(const Case& one) const;
  /// What that device has found; empty where the host has to look: an output is not well within its limits.
  std::optional<ComparedCase> compared(const Case& one, const std::vector<OutputSums>& sums) const;

  struct Check {
    std::optional<Failure> failure;
    /// Of the output that is closest to a limit. Above 1 without a failure: the case is ill-conditioned and set aside,
    /// or further draws are to tell.
    double closeness = 0;
    int further_draws = 0;  ///< That many, where they are to tell.
  };
  /// Keeps the errors of a case and says whether they are too large. `further`: a draw beyond the grid's.
  Check judge(const Case& one, const ComparedCase& compared, bool further = false);
  /// Both, for a case of the plan.
  std::optional<Failure> check(std::size_t number, std::span<const std::byte> outputs);
  /// Whether the draws that were left open break their limits together, or all draws that of their average.
  std::optional<Failure> check_pools() const;

 private:
  std::vector<ComparedOutput> outputs_there(const Case& one) const;
  /// As the output is larger than on ordinary inputs, or sums are longer than at the sizes that are listed.
  Limits grown_limits(Limits limits, const Tensor& tensor, const Case& one, const Expected& expected,
                      std::size_t output) const;
  /// The difference that is held to the limits.
  Difference difference_of(const Case& one, const ComparedCase& compared, const ComparedOutput& output) const;
  /// Takes a draw into the average of its output, where that has a limit.
  void add_to_average(const Case& one, const ComparedOutput& output, const Difference& difference,
                      const Expected& expected, std::size_t number);
  std::string look_of(const Case& one, const ComparedOutput& output) const;

  const ValidationSetup& setup_;
  const Candidate& candidate_;
  const Limits& limits_;
  Evaluation& evaluation_;
  PooledDraws pooled_;
  HonestAverage average_;
};

}  // namespace evo
