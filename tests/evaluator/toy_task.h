#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/task/candidate.h"
#include "engine/task/task.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::testing {

/// A small task: c = a + b over N f32, with several regimes, seeds and shapes. `reference` is the
/// text of reference.cu.
SourceTree toy_tree(const std::string& reference);

/// Device worker and compilers are fakes (tests/evaluator/worker/fake_tools.h).
PipelineOptions toy_options();

/// A candidate whose only program has this source, with a plan for each shape of the toy target.
Candidate toy_candidate(const PipelineOptions& options, const std::string& source);

/// Evaluates the candidates, `width` at once, and returns the results in the order of submission.
std::vector<Evaluation> evaluate_all(Evaluator& evaluator, const std::vector<Candidate>& candidates);
Evaluation evaluate_one(Evaluator& evaluator, const Candidate& candidate);

/// True when no child of this process is left, running or dead.
bool no_children_left();

}  // namespace evo::testing
