#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "engine/task/mutant.h"
#include "evaluator/device/device.h"
#include "evaluator/judge/diagnosis.h"

namespace evo::cli {

/// The diagnosis of one mutant or control.
struct DiagnosedMutant {
  Mutant mutant;
  Diagnosis diagnosis;

  /// It has a planted stage, and an answer to look at.
  bool counted() const { return !mutant.stages.empty() && diagnosis.wrong; }
  bool right() const;  ///< The stage named is a planted one; a control has no wrong answer.
};

struct DiagnosisScore {
  std::string task;
  DeviceInfo device;
  std::vector<DiagnosedMutant> mutants;

  std::size_t counted() const { return std::ranges::count_if(mutants, &DiagnosedMutant::counted); }
  std::size_t right() const;  ///< Of those counted.
};

/// Diagnoses the mutants of a task that have a planted stage, and its controls. `only`: names; empty: all. `probes`:
/// whether kernels that have probes use them. Those that the device cannot run are left out. Throws usage_error when
/// nothing is left.
DiagnosisScore score_diagnosis(const SourceTree& tree, const Task& task, const DeviceInfo& device,
                               const std::vector<std::string>& only, bool probes);

}  // namespace evo::cli
