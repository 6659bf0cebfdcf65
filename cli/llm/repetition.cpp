#include "cli/llm/repetition.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/text/json_text.h"

namespace evo::cli {
namespace {

void keep_last(std::deque<std::string>& list, std::string text) {
  list.push_back(std::move(text));
  if (list.size() > Repetition::kAlike) list.pop_front();
}

bool are_alike(const std::deque<std::string>& list) {
  return list.size() == Repetition::kAlike &&
         std::ranges::all_of(list, [&](const std::string& text) { return text == list.front(); });
}

/// A reason without its numbers and names: what stands in quotes.
std::string kind_of_reason(const std::string& why) {
  std::string kind;
  bool quoted = false;
  for (const char c : why) {
    if (c == '\'' || c == '"') quoted = !quoted;
    if (!quoted && (c < '0' || c > '9')) kind += c;
  }
  return kind;
}

}  // namespace

void Repetition::answered(const std::vector<Json>& proposals, const std::string& failure) {
  std::set<std::string> all = {failure};
  for (Json proposal : proposals) {
    if (proposal.is_object())
      for (const char* key : {"note", "exchange", "parents"}) proposal.erase(key);
    all.insert(proposal.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  std::string text;
  for (const std::string& one : all) text += one + "\n";
  keep_last(answers_, std::move(text));
}

void Repetition::refused(const Json& refusals) {
  std::set<std::string> kinds;
  for (const Json& refusal : refusals)
    if (refusal.contains("why") && refusal["why"].is_string())
      kinds.insert(kind_of_reason(refusal["why"].get<std::string>()));
  std::string text;
  for (const std::string& kind : kinds) text += kind + "\n";
  keep_last(reasons_, std::move(text));
}

bool Repetition::noticed() {
  if (!are_alike(answers_) && !are_alike(reasons_)) return false;
  answers_.clear();
  reasons_.clear();
  return true;
}

}  // namespace evo::cli
