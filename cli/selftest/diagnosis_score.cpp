#include "cli/selftest/diagnosis_score.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "cli/selftest/planted.h"
#include "cli/subject/lookup.h"
#include "engine/base/error.h"
#include "engine/task/target.h"

namespace evo::cli {
namespace {

/// Fixed, so that a score is a property of the task and repeats.
constexpr std::uint64_t kDiagnosisSalt = 0x646961676e6f7365;
/// Mutants with endless loops take this long.
constexpr double kDiagnosedRunDeadlineS = 30;

PipelineOptions options_for(const SourceTree& tree, const Task& task, const DeviceInfo& device,
                            const Bindings& chosen_options) {
  PipelineOptions options;
  options.task = task;
  options.tree = tree;
  options.target = make_self_test_target(task, device.kind, chosen_options);
  options.device = device;
  options.salt = kDiagnosisSalt;
  options.run_deadline_s = kDiagnosedRunDeadlineS;
  return options;
}

}  // namespace

bool DiagnosedMutant::right() const {
  if (is_control(mutant)) return !diagnosis.wrong && !diagnosis.failure;
  return std::ranges::find(mutant.stages, diagnosis.stage) != mutant.stages.end();
}

std::size_t DiagnosisScore::right() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(mutants, [](const DiagnosedMutant& one) { return one.counted() && one.right(); }));
}

DiagnosisScore score_diagnosis(const SourceTree& tree, const Task& task, const DeviceInfo& device,
                               const std::vector<std::string>& only, bool probes) {
  DiagnosisScore score{.task = task.name, .device = device, .mutants = {}};
  std::map<Bindings, std::vector<Mutant>> by_options;
  for (Mutant& mutant : chosen(load_mutants(tree, task), only))
    if (!mutant.stages.empty() || is_control(mutant)) by_options[mutant.options].push_back(std::move(mutant));
  for (const auto& [options, mutants] : by_options) {
    const PipelineOptions given = options_for(tree, task, device, options);
    Target any = given.target;
    any.objective.clear();  // Mutants are planted in kernels of every objective.
    const Space space = make_space(tree, task, device, any, "");
    Diagnostician diagnostician(given);
    for (const Mutant& mutant : mutants) {
      const auto planted = plant(tree, task, space, mutant);
      if (!planted || !mutant.expected.contains(device.kind)) continue;
      const auto make = [&](const Target& target) {
        return make_candidate(planted->tree, task, planted->family, planted->genome, target, facts_of(device.limits));
      };
      DiagnosisSubject subject{make, {}};
      if (probes && diagnostician.stages().probed.contains(planted->family.name))
        subject.make_probed = [&](const Target& target) {
          return make_probed_candidate(planted->tree, task, planted->family, planted->genome, target,
                                       facts_of(device.limits), diagnostician.stages());
        };
      score.mutants.push_back({mutant, diagnostician.diagnose(subject)});
    }
  }
  if (score.mutants.empty()) {
    throw usage_error(fmt::format("task {} has no mutant with a planted stage that {} can run (docs/diagnose.md)",
                                  task.name, device.id));
  }
  return score;
}

}  // namespace evo::cli
