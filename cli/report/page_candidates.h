#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "cli/report/page_subject.h"
#include "cli/report/run_report.h"

namespace evo::cli {

/// Adds `candidates` and `genomes`, in columns, to the page's document: all candidates of its runs.
void add_candidates(nlohmann::ordered_json& page, const PageSubject& subject,
                    const std::vector<FamilyReport>& families);

}  // namespace evo::cli
