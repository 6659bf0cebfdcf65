#include "cli/check/regime_trial.h"

#include <algorithm>

#include "cli/check/usual_cases.h"
#include "cli/text/result_text.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {
namespace {

/// Each that fails costs another pipeline.
constexpr std::size_t kMostFailures = 4;

Evaluation evaluated(PipelineOptions options, const Candidate& candidate) {
  const std::unique_ptr<Evaluator> pipeline = make_pipeline(std::move(options));
  pipeline->submit(0, candidate);
  return pipeline->wait().evaluation;
}

void add_once(std::vector<std::string>& all, const std::string& one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

}  // namespace

RegimeTrial try_regimes(const SourceTree& tree, const Task& task, const Candidate& candidate, const Target& target,
                        const DeviceInfo& device) {
  RegimeTrial trial;
  PipelineOptions options;
  options.task = task;
  options.task.seeds = 1;
  options.tree = tree;
  options.target = target;
  options.device = device;
  options.salt = kUsualSalt;
  options.compile_workers = 1;
  options.dedup = false;
  while (!options.task.regimes.empty()) {
    const Evaluation evaluation = evaluated(options, candidate);
    for (const CaseError& error : evaluation.errors)
      if (!evaluation.mismatch || error.regime != evaluation.mismatch->regime) add_once(trial.right, error.regime);
    if (evaluation.verdict == Verdict::valid) break;
    trial.wrong.push_back(fault_text(evaluation.reason, evaluation.mismatch, evaluation.original));
    if (!evaluation.mismatch || trial.wrong.size() == kMostFailures) break;
    std::erase_if(options.task.regimes,
                  [&](const Regime& regime) { return regime.name == evaluation.mismatch->regime; });
  }
  return trial;
}

}  // namespace evo::cli
