#pragma once

#include <string>

#include "cli/rivals/foreign_kernel.h"
#include "cli/rivals/solution_check.h"
#include "cli/text/terminal.h"

/// What `evo verify` says of solutions of other judges: for people, and as the document of `--json`.
namespace evo::cli {

std::string solution_text(const SolutionCheck& found, const SolutionRequest& request, const Terminal& terminal);
std::string solution_document(const SolutionCheck& found, const SolutionRequest& request);

/// Of a kernel that is compiled here and judged as a candidate.
std::string foreign_kernel_text(const Evaluation& found, const SolutionRequest& request, const Terminal& terminal);
std::string foreign_kernel_document(const Evaluation& found, const SolutionRequest& request);

}  // namespace evo::cli
