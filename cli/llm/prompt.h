#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/llm/chat.h"

namespace evo::cli {

/// What a prompt may have, so that its answer still fits the model's context.
std::size_t prompt_bytes(const LlmOptions& options);

/// What a language model is asked for, made of the two lines that a proposer reads (docs/proposer.md): `task`, the
/// first, and `question`. At most `most_bytes`: of files that do not fit, the end is left out. `trouble`: what was
/// wrong with its last answer; empty: nothing. Throws usage_error where the lines are not what they should be.
Prompt prompt_for(const nlohmann::ordered_json& task, const nlohmann::ordered_json& question,
                  const std::string& trouble, std::size_t most_bytes);

}  // namespace evo::cli
