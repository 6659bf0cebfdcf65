#include "cli/run/elite_profiles.h"

#include <fmt/format.h>

#include "cli/subject/lookup.h"
#include "cli/text/streams.h"
#include "engine/base/error.h"
#include "evaluator/pipeline/profiler.h"

namespace evo::cli {

void profile_elites(Store& store, RunId run, const PipelineOptions& options,
                    const std::function<Candidate(const Genome&)>& build) {
  Profiler profiler(options);
  for (const EliteRow& elite : store.elites({.task_hash = options.task.hash})) {
    if (elite.run != run || !find_candidate(store, elite.candidate).evaluation.profiles.empty()) continue;
    try {
      const Profiler::Result result = profiler.profile(build(elite.genome));
      if (const auto* failure = std::get_if<Failure>(&result)) {
        write_to_stderr(fmt::format("candidate {} has no counters: {}\n", elite.candidate, failure->reason));
        continue;
      }
      for (const Profile& profile : std::get<std::vector<Profile>>(result))
        store.record_profile(elite.candidate, profile);
    } catch (const Error& error) {
      write_to_stderr(fmt::format("{}\n", error.what()));
      return;
    }
  }
}

}  // namespace evo::cli
