#include "cli/llm/conversation.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/llm/answer.h"
#include "cli/llm/prompt.h"
#include "cli/text/format.h"
#include "cli/text/json_members.h"
#include "cli/text/json_text.h"
#include "cli/text/terminal.h"

namespace evo::cli {
namespace {

constexpr int kMostLasting = 3;         // failures of a model in a row that would be the same again
constexpr int kToldFailures = 9;        // of a server that does not answer; later ones are at equal intervals
constexpr double kLongestPause = 300;   // seconds between tries, unless the server asks for more
constexpr std::size_t kMostPauses = 3;  // after refusals; then it ends
constexpr double kFreer = 0.3;          // temperature that a model gets more when it repeats itself

/// The ticket of the best candidate, or "none".
std::string best_in(const Json& question) {
  const Json& elites = member_list(question, "elites");
  return elites.empty() || !elites[0].is_object() || !elites[0].contains("ticket") ? "none"
                                                                                   : elites[0]["ticket"].dump();
}

}  // namespace

Conversation::Conversation(const LlmOptions& options) : options_(options), budget_(options), models_(options.models) {}

Json Conversation::answer(Json question, double now) {
  if (!begun_ && question.contains("spent"))
    budget_.begin_with(member_count(question["spent"], "requests"), member_count(question["spent"], "tokens"),
                       member_number(question["spent"], "cost"));
  begun_ = true;
  learn_of_candidates(question);
  learn_of_refusals(question);
  Json line = {{"exchanges", std::exchange(exchanges_, Json::array())},
               {"proposals", std::exchange(proposals_, Json::array())}};
  // Refusals are reported once: those of questions that no model was asked are kept for the next.
  for (Json& refusal : std::exchange(refused_, {})) question["refused"].push_back(std::move(refusal));
  // What becomes of these proposals is to be in the next prompt.
  const bool waits = !line["proposals"].empty() || asked_ || now < not_before_;
  if (!ended_ && !waits && !pauses(question)) begin(question);
  if (!asked_ || waits)
    for (const Json& refusal : member_list(question, "refused")) keep_refusal(refusal);
  if (ended_ && !asked_) line["done"] = true;
  return line;
}

void Conversation::learn_of_candidates(const Json& question) {
  for (const Json& one : member_list(question, "own")) {
    if (!one.is_object() || !one.contains("ticket") || !one["ticket"].is_number_integer()) continue;
    if (!candidates_.insert(one["ticket"].get<std::int64_t>()).second) continue;
    models_.tell(member_text(one, "model"), one.contains("elite") && one["elite"] == true);
    if (member_text(one, "verdict") == "duplicate") continue;
    refusals_ = 0;
    repetition_.forget_refusals();
  }
}

void Conversation::learn_of_refusals(const Json& question) {
  const Json& refused = member_list(question, "refused");
  if (refused.empty()) return;
  refusals_ += refused.size();
  repetition_.refused(refused);
  for (const Json& one : refused) models_.tell(member_text(one, "model"), false);
}

void Conversation::keep_refusal(const Json& refusal) {
  constexpr std::size_t kKept = 16;
  refused_.push_back(refusal);
  if (refused_.size() > kKept) refused_.erase(refused_.begin());
}

bool Conversation::pauses(const Json& question) {
  const std::string best = best_in(question);
  if (!best_at_pause_.empty()) {
    if (best == best_at_pause_) return true;
    best_at_pause_.clear();
    refusals_ = 0;
  }
  if (refusals_ < options_.refusals) return false;
  const std::string why = fmt::format("{} refused proposals without a candidate (--llm-refusals)", refusals_);
  if (++pauses_ > kMostPauses) {
    end(fmt::format("{}, after {} pauses", why, kMostPauses));
    return true;
  }
  best_at_pause_ = best;
  notices_.push_back(fmt::format("{}; it is asked again when the run has a new best", why));
  return true;
}

void Conversation::begin(const Json& question) {
  const std::string model = models_.next();
  PromptNeeds needs;
  needs.trouble = trouble_;
  needs.most_bytes = std::min(prompt_bytes(options_), budget_.most_prompt_bytes());
  ModelQuestion asked;
  asked.model = model;
  asked.temperature = options_.temperature;
  if (repetition_.noticed()) {
    needs.other_kind = ++other_kinds_;
    notices_.push_back(
        fmt::format("{} answers of {} were alike; it is asked something else", Repetition::kAlike, model));
    if (asked.temperature) asked.temperature = std::min(*asked.temperature + kFreer, 2.0);
  }
  asked.prompt = prompt_for(task_, question, needs);
  asked.answer_tokens = budget_.next_answer(estimated_tokens(whole_text(asked.prompt)));
  asked.most_requests = budget_.requests_left();
  if (asked.answer_tokens == 0) return end(budget_.why_exhausted());
  models_.asked(model);
  asked_ = std::move(asked);
}

void Conversation::take(ChatReply reply, double seconds, double now) {
  budget_.spend(reply.requests, reply.prompt_tokens, reply.answer_tokens);
  const ModelQuestion asked = *std::exchange(asked_, std::nullopt);
  ++number_;
  std::string failure = reply.failure;
  trouble_.clear();
  if (failure.empty()) {
    ModelAnswer answer = read_answer(reply.answer);
    failure = trouble_ = answer.failure;
    repetition_.answered(answer.proposals, answer.failure);
    for (Json& proposal : answer.proposals) {
      if (proposal.is_object()) proposal["exchange"] = number_;
      proposals_.push_back(std::move(proposal));
    }
    failures_ = 0;
    lasting_[asked.model] = 0;
  }
  if (!trouble_.empty()) {
    ++refusals_;
    models_.tell(asked.model, false);
    notices_.push_back(fmt::format("{}: {}", asked.model, clipped(trouble_, 300)));
  }
  exchanges_.push_back({{"id", number_},
                        {"model", asked.model},
                        {"prompt", whole_text(asked.prompt)},
                        {"answer", reply.answer},
                        {"prompt_tokens", reply.prompt_tokens},
                        {"answer_tokens", reply.answer_tokens},
                        {"cost", budget_.cost_of(reply.prompt_tokens, reply.answer_tokens)},
                        {"seconds", seconds},
                        {"failure", failure}});
  if (reply.failure.empty()) return;
  if (reply.lasting && ++lasting_[asked.model] >= kMostLasting) return drop(asked.model, reply.failure);
  failed(reply, now);
}

void Conversation::failed(const ChatReply& reply, double now) {
  const double doubled = std::min(kLongestPause, static_cast<double>(2 << std::min(failures_, 20)));
  const double pause = std::max(doubled, static_cast<double>(reply.retry_after.count()));
  ++failures_;
  not_before_ = now + pause;
  if (failures_ > kToldFailures) return;
  notices_.push_back(fmt::format("{}; asked again in {}{}", clipped(reply.failure, 300), duration_text(pause),
                                 failures_ == kToldFailures ? ", and so on" : ""));
}

void Conversation::drop(const std::string& model, const std::string& why) {
  models_.drop(model);
  const std::string reason = fmt::format("{}, {} times in a row", clipped(why, 300), kMostLasting);
  if (models_.next().empty()) return end(reason);
  notices_.push_back(fmt::format("{}; {} is not asked any more", reason, model));
}

void Conversation::end(const std::string& why) {
  ended_ = true;
  notices_.push_back(fmt::format("{}; the search goes on without it", why));
}

}  // namespace evo::cli
