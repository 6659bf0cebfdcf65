#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace evo::cli {

/// Proposals that are read of one answer.
inline constexpr std::size_t kMostProposals = 8;

/// A language model's answer.
struct ModelAnswer {
  std::vector<nlohmann::ordered_json> proposals;  ///< As a proposer writes them (docs/proposer.md), not yet checked.
  std::string failure;                            ///< Why there are none; empty: it could be read.
};

/// Reads JSON, which may stand in a fence or between words, or after <think>. Keys that a proposal does not have are
/// dropped.
ModelAnswer read_answer(std::string_view text);

/// A JSON schema of the answers, for servers that keep a model to one.
nlohmann::ordered_json answer_schema();

}  // namespace evo::cli
