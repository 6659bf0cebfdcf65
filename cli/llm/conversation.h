#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/llm/budget.h"
#include "cli/llm/chat.h"
#include "cli/llm/llm_options.h"
#include "cli/llm/repetition.h"
#include "engine/search/named_bandit.h"

namespace evo::cli {

/// A proposer that asks language models, apart from the asking: what it says to a search, whom it asks what, and when.
/// Its time is given to it, in seconds from any beginning, so the same lines and replies give the same session.
class Conversation {
 public:
  explicit Conversation(const LlmOptions& options);

  void set_task(nlohmann::ordered_json task) { task_ = std::move(task); }

  /// What has come in since the last question (docs/proposer.md). Then a model is to be asked this one, unless one is
  /// being asked, a server wants to be left alone, or the models are not to be asked now.
  nlohmann::ordered_json answer(nlohmann::ordered_json question, double now);
  /// What a model is to be asked now. take() is to be called with its reply, after which this is empty again.
  const std::optional<ModelQuestion>& asked() const { return asked_; }
  /// `seconds`: that it took.
  void take(ChatReply reply, double seconds, double now);

  /// Lines for people, since the last call.
  std::vector<std::string> notices() { return std::exchange(notices_, {}); }

 private:
  void learn_of_candidates(const nlohmann::ordered_json& question);
  void learn_of_refusals(const nlohmann::ordered_json& question);
  void keep_refusal(const nlohmann::ordered_json& refusal);
  /// Whether too much was refused, and the run has had no new best since.
  bool pauses(const nlohmann::ordered_json& question);
  void begin(const nlohmann::ordered_json& question);
  void failed(const ChatReply& reply, double now);
  void drop(const std::string& model, const std::string& why);
  void end(const std::string& why);

  LlmOptions options_;
  LlmBudget budget_;
  NamedBandit models_;
  Repetition repetition_;
  nlohmann::ordered_json task_;
  nlohmann::ordered_json exchanges_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json proposals_ = nlohmann::ordered_json::array();
  std::vector<nlohmann::ordered_json> refused_;  // of questions that no model was asked
  std::optional<ModelQuestion> asked_;
  std::vector<std::string> notices_;
  std::string trouble_;                 // of the last answer
  std::set<std::int64_t> candidates_;   // tickets of its own that are known
  std::map<std::string, int> lasting_;  // failures in a row that will last, by model
  std::uint64_t refusals_ = 0;          // without a candidate since
  std::string best_at_pause_;           // the ticket of the best when it paused; empty: it does not pause
  std::size_t pauses_ = 0;
  std::size_t other_kinds_ = 0;  // how often it was asked something else
  std::int64_t number_ = 0;      // of exchanges
  int failures_ = 0;             // in a row
  double not_before_ = 0;
  bool begun_ = false;
  bool ended_ = false;
};

}  // namespace evo::cli
