#pragma once

#include "cli/llm/llm_options.h"

namespace evo::cli {

/// A proposer that asks a language model: reads a proposer's lines on standard input and writes its answers to standard
/// output (docs/proposer.md), until the input ends. It answers at once, with the model's proposals since the last
/// question. The model is asked meanwhile, so a search never waits for it. Errors are one line on standard error.
/// Throws machine_error when there is no libcurl, and usage_error for lines that it cannot read. Returns an exit code.
int propose_by_llm(const LlmOptions& options);

}  // namespace evo::cli
