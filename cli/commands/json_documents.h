#pragma once

#include <string>
#include <vector>

#include "cli/commands/compare.h"
#include "cli/commands/selftest.h"
#include "cli/commands/verify.h"
#include "cli/run/run_summary.h"
#include "cli/subject/listings.h"
#include "evaluator/pipeline/doctor.h"
#include "population/store/store.h"

namespace evo::cli {

// The documents that --json prints, as docs/json.md describes them: each is one object with "evo", "command"
// and the command's own members, ends with a newline, and changes only by additions.

std::string run_json(const RunSummary& summary);
std::string tasks_json(const std::vector<TaskListing>& tasks);
std::string space_json(const SpaceListing& space);
std::string elites_json(const std::vector<EliteRow>& rows);
std::string show_json(const CandidateRow& candidate, const RunRow& run);
std::string lineage_json(CandidateId candidate, const std::vector<LineageRow>& rows);
std::string diff_json(const CandidateRow& a, const CandidateRow& b, const std::vector<GeneDifference>& genes,
                      const std::string& source_diff);
std::string runs_json(const std::vector<RunRow>& rows);
/// One run with every candidate in brief.
std::string runs_json(const RunRow& row, const std::vector<OutcomeRow>& outcomes);
std::string verify_json(const Finding& finding);
/// A file of several kernels.
std::string verify_json(const std::string& origin, const std::vector<Finding>& findings);
std::string compare_json(const Comparison& comparison);
std::string db_check_json(const std::string& database, const std::vector<std::string>& problems);
std::string db_merge_json(const MergeCounts& counts);
std::string selftest_json(const SelftestResult& result);
/// What `evo doctor` found: of the machine, and of the templates and the database that were named.
struct Diagnosis {
  std::vector<Check> checks;
  bool can_run = false;      ///< Some device can be searched on.
  bool can_measure = false;  ///< It is a GPU.
};
std::string doctor_json(const Diagnosis& diagnosis);

}  // namespace evo::cli
