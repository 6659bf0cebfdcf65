#include "cli/llm/budget.h"

#include <fmt/format.h>

namespace evo::cli {
namespace {

constexpr std::uint64_t kLeastAnswer = 128;  ///< Tokens. Shorter ones hold no proposal.
constexpr double kPriced = 1e6;              ///< Tokens that a price is for.

}  // namespace

void LlmBudget::begin_with(std::uint64_t requests, std::uint64_t tokens, double cost) {
  requests_ += requests;
  tokens_ += tokens;
  cost_ += cost;
}

std::uint64_t LlmBudget::next_answer(std::uint64_t prompt_tokens) const {
  if (requests_ >= options_.requests) return 0;
  if (tokens_ >= options_.tokens || options_.tokens - tokens_ <= prompt_tokens) return 0;
  std::uint64_t most = std::min(options_.answer, options_.tokens - tokens_ - prompt_tokens);
  if (options_.cost > 0) {
    const double left = options_.cost - cost_ - cost_of(prompt_tokens, 0);
    if (left <= 0) return 0;
    if (options_.answer_price > 0)
      most = static_cast<std::uint64_t>(std::min(static_cast<double>(most), left * kPriced / options_.answer_price));
  }
  return most < kLeastAnswer ? 0 : most;
}

std::size_t LlmBudget::most_prompt_bytes() const {
  constexpr std::uint64_t kLeast = 6'000, kMost = 1 << 30, kBytesOfToken = 4;
  const std::uint64_t left = options_.tokens - std::min(tokens_, options_.tokens);
  return std::clamp(left / 2, kLeast, kMost) * kBytesOfToken;
}

std::string LlmBudget::why_exhausted() const {
  if (requests_ >= options_.requests)
    return fmt::format("the {} requests of --llm-requests are used up", options_.requests);
  if (options_.cost > 0 && options_.tokens == UINT64_MAX)
    return fmt::format("what is left of --llm-cost {} is not enough for an answer", options_.cost);
  return fmt::format("what is left of --llm-tokens {}{} is not enough for an answer", options_.tokens,
                     options_.cost > 0 ? fmt::format(" or --llm-cost {}", options_.cost) : "");
}

double LlmBudget::cost_of(std::uint64_t prompt_tokens, std::uint64_t answer_tokens) const {
  return (static_cast<double>(prompt_tokens) * options_.prompt_price +
          static_cast<double>(answer_tokens) * options_.answer_price) /
         kPriced;
}

}  // namespace evo::cli
