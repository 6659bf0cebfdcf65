#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/report/lessons.h"
#include "cli/report/run_report.h"

/// Reports for programs, as docs/json.md describes them.
namespace evo::cli {

nlohmann::ordered_json family_json(const FamilyReport& family);
nlohmann::ordered_json phases_json(const PhaseSums& phases);

/// The whole document of one run.
std::string report_document(const RunReport& report, const Lessons& lessons);

}  // namespace evo::cli
