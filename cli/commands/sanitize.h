#pragma once

#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/text/terminal.h"
#include "evaluator/vgpu/sanitiser/finding.h"

namespace evo::cli {

/// What `evo sanitize` found.
struct Sanitized {
  std::string subject;
  std::string device;
  std::vector<std::string> ran;  ///< What was run: shapes, or kernels with their arguments.
  std::vector<vgpu::Finding> findings;
};

std::string sanitize_text(const Sanitized& result, const Terminal& terminal);
std::string sanitize_json(const Sanitized& result);

/// `evo sanitize ID|FILE.cu`
void add_sanitize(CLI::App& app, Action& action);

}  // namespace evo::cli
