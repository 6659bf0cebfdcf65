#include "cli/llm/answer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/text/json_text.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"

namespace evo::cli {
namespace {

constexpr std::size_t kLongestModelNote = 2048;  // bytes

/// What stands between the first { and the last }, in a fence where there is one.
std::string_view json_in(std::string_view text) {
  if (const std::size_t thought = text.rfind("</think>"); thought != std::string_view::npos)
    text = text.substr(text.find('>', thought) + 1);
  if (const std::size_t fence = text.find("```json"); fence != std::string_view::npos) {
    text = text.substr(fence);
    // A kernel in the JSON has no line that begins with a fence: its line breaks are written as \n.
    if (const std::size_t end = text.find("\n```"); end != std::string_view::npos) text = text.substr(0, end);
  }
  const std::size_t begin = text.find('{');
  const std::size_t end = text.rfind('}');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  return text.substr(begin, end - begin + 1);
}

/// The members that a proposal may have.
Json proposal_in(const Json& item) {
  Json proposal = Json::object();
  for (const char* key : {"genome", "slot", "patch", "source", "plan", "parents", "note"})
    if (item.contains(key)) proposal[key] = item[key];
  if (const auto note = proposal.find("note"); note != proposal.end())
    *note = note->is_string() ? clipped(note->get<std::string>(), kLongestModelNote) : "";
  return proposal;
}

Json text_schema() {
  return {{"type", "string"}};
}

Json object_schema(Json properties, std::vector<std::string> required) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

}  // namespace

ModelAnswer read_answer(std::string_view text) {
  ModelAnswer answer;
  const std::string_view found = json_in(text);
  try {
    require_shallow_json(found, "it");
  } catch (const Error& error) {
    answer.failure = fmt::format("the answer cannot be read: {}", error.what());
    return answer;
  }
  const Json json = Json::parse(found, nullptr, false);
  if (!json.is_object() || !json.contains("proposals") || !json["proposals"].is_array()) {
    answer.failure = "the answer is not {\"reasoning\": \"...\", \"proposals\": [...]}";
    return answer;
  }
  for (const Json& item : json["proposals"]) {
    if (answer.proposals.size() == kMostProposals) break;
    answer.proposals.push_back(item.is_object() ? proposal_in(item) : item);
  }
  if (answer.proposals.empty()) answer.failure = "the answer has no proposals";
  return answer;
}

Json answer_schema() {
  const Json allele = {{"type", {"string", "number", "boolean"}}};
  const Json genes = {{"type", "object"}, {"additionalProperties", allele}};
  const Json genome = object_schema({{"family", text_schema()}, {"like", {{"type", "integer"}}}, {"genes", genes}}, {});
  const Json slot = object_schema(
      {{"family", text_schema()}, {"gene", text_schema()}, {"allele", text_schema()}, {"text", text_schema()}},
      {"family", "gene", "allele", "text"});
  const Json edit = object_schema({{"file", text_schema()}, {"find", text_schema()}, {"replace", text_schema()}},
                                  {"file", "find", "replace"});
  const Json proposal = object_schema({{"note", text_schema()},
                                       {"genome", genome},
                                       {"slot", slot},
                                       {"patch", {{"type", "array"}, {"items", edit}}},
                                       {"source", text_schema()},
                                       {"plan", {{"type", "object"}}},
                                       {"parents", {{"type", "array"}, {"items", {{"type", "integer"}}}}}},
                                      {"note"});
  return object_schema({{"reasoning", text_schema()},
                        {"proposals", {{"type", "array"}, {"items", proposal}, {"maxItems", kMostProposals}}}},
                       {"reasoning", "proposals"});
}

}  // namespace evo::cli
