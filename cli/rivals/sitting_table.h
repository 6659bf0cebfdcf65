#pragma once

#include <string>
#include <vector>

#include "cli/rivals/sitting_report.h"
#include "cli/text/terminal.h"

namespace evo::cli {

/// For people: the candidate and its rivals, the fastest first.
std::string sitting_text(const SittingReport& report, const Terminal& terminal);

/// The same as Markdown: how it was held, and a table.
std::string sitting_markdown(const SittingReport& report);

/// The same of several, below a heading for each task, device and objective.
std::string sittings_markdown(const std::vector<SittingReport>& reports);

}  // namespace evo::cli
