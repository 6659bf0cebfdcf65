#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/llm/chat.h"

namespace evo::cli {

/// The largest prompt whose answer still fits the model's context.
std::size_t prompt_bytes(const LlmOptions& options);

/// The prompt, made from the two lines that a proposer reads (docs/proposer.md): `task`, the first, and `question`. At
/// most `most_bytes`: files that do not fit lose their end. `trouble`: the fault of its last answer; empty: none.
/// Throws usage_error for malformed lines.
Prompt prompt_for(const nlohmann::ordered_json& task, const nlohmann::ordered_json& question,
                  const std::string& trouble, std::size_t most_bytes);

}  // namespace evo::cli
