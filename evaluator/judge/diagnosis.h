#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/task/candidate.h"
#include "engine/task/stages.h"
#include "engine/task/target.h"
#include "evaluator/device/device.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/judge/wrong_answer.h"

namespace evo {

/// One isolation that was tried.
struct Attempt {
  std::string stage;
  std::string about;
  std::string shape, regime;
  std::optional<WrongAnswer> wrong;     ///< Empty: right.
  std::optional<Failure> failure = {};  ///< It did not run to its end.
};

/// One probe that was compared in the wrong case.
struct ProbedValues {
  std::string name;
  std::string about;
  std::optional<WrongAnswer> wrong;  ///< Empty: right.
};

/// Where a candidate goes wrong.
struct Diagnosis {
  std::optional<Failure> failure;    ///< It does not build, load or run: there is no answer to look at.
  std::string failed_case;           ///< "shape one, regime normal, seed 0" of a failure on the device.
  std::optional<WrongAnswer> wrong;  ///< The first wrong case of the grid. Neither: every case is right.
  std::string stage;                 ///< The first wrong one; empty when none can be named.
  std::string about;                 ///< Of that stage.
  std::vector<ProbedValues> probes;  ///< In order, up to the first wrong one. Empty: the kernel has none.
  std::vector<Attempt> attempts;     ///< In order; when the last one is wrong, it named the stage.
};

/// The candidate for a target: its programs with plans for every shape.
using MakeCandidate = std::function<Candidate(const Target& target)>;

/// A candidate, and the same with its probes (make_probed_candidate) where it has some; else that is empty.
struct DiagnosisSubject {
  MakeCandidate make;
  MakeCandidate make_probed;
};

/// Diagnoses candidates of one task, target and device one after another, in worker processes of its own.
class Diagnostician {
 public:
  /// `options` must outlive it.
  explicit Diagnostician(const PipelineOptions& options);
  ~Diagnostician();

  /// Throws usage_error for a reference that fails, machine_error when no worker can be started.
  Diagnosis diagnose(const DiagnosisSubject& subject);

  const Stages& stages() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace evo
