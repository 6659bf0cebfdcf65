#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cli/llm/llm_options.h"

namespace evo::cli {

/// The budget of a language model, and its use so far.
class LlmBudget {
 public:
  explicit LlmBudget(const LlmOptions& options) : options_(options) {}

  /// The use before this process began.
  void begin_with(std::uint64_t requests, std::uint64_t tokens, double cost);
  void spend(std::uint64_t requests, std::uint64_t prompt_tokens, std::uint64_t answer_tokens) {
    begin_with(requests, prompt_tokens + answer_tokens, cost_of(prompt_tokens, answer_tokens));
  }

  /// Tokens that the next answer may have, after a prompt of so many; 0: there is not enough left for an answer.
  std::uint64_t next_answer(std::uint64_t prompt_tokens) const;
  std::uint64_t requests_left() const { return options_.requests - std::min(requests_, options_.requests); }
  /// Bytes that a prompt may have: at most half of the tokens that are left, so that an answer has the others. Never
  /// less than a few thousand.
  std::size_t most_prompt_bytes() const;
  /// Why there is nothing left: "the 100 requests of --llm-requests are used up".
  std::string why_exhausted() const;

  double cost_of(std::uint64_t prompt_tokens, std::uint64_t answer_tokens) const;

 private:
  LlmOptions options_;
  std::uint64_t requests_ = 0;
  std::uint64_t tokens_ = 0;
  double cost_ = 0;
};

}  // namespace evo::cli
