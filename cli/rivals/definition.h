#pragma once

#include <string>

#include "cli/rivals/foreign_task.h"

namespace evo::cli {

/// A Definition of flashinfer-bench, JSON that is not nested deeply. Otherwise as read_foreign_problem.
ForeignProblem read_definition(const std::string& text, const std::string& file, const std::string& name);

}  // namespace evo::cli
