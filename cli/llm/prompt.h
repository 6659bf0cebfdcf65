#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/llm/chat.h"

namespace evo::cli {

/// The largest prompt whose answer still fits the model's context.
std::size_t prompt_bytes(const LlmOptions& options);

struct PromptNeeds {
  std::string trouble = {};    ///< The fault of the last answer; empty: none.
  std::size_t most_bytes = 0;  ///< Of the prompt: sources that do not fit are left out.
  std::size_t other_kind = 0;  ///< Not 0: it repeats itself, and is asked for another kind of proposal each time.
};

/// The prompt, made from the two lines that a proposer reads (docs/proposer.md): `task`, the first, and `question`.
/// Throws usage_error for malformed lines.
Prompt prompt_for(const nlohmann::ordered_json& task, const nlohmann::ordered_json& question, const PromptNeeds& needs);

}  // namespace evo::cli
