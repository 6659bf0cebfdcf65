#include "cli/llm/chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/llm/answer.h"
#include "cli/text/json_text.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"

namespace evo::cli {
namespace {

constexpr std::size_t kLongestModelAnswer = 512 << 10;  // bytes
constexpr std::size_t kLongestComplaint = 200;
constexpr std::int64_t kMostCounted = 10'000'000;  // tokens that a server may say it has used

/// What a server says of a request that it refuses.
std::string complaint_in(const std::string& body) {
  std::string text = body;
  try {
    require_shallow_json(body, "");
    const Json json = Json::parse(body, nullptr, false);
    const Json* error = json.is_object() && json.contains("error") ? &json["error"] : nullptr;
    if (error != nullptr && error->is_object() && error->contains("message")) error = &(*error)["message"];
    if (error != nullptr && error->is_string()) text = error->get<std::string>();
  } catch (const Error&) {
    // It is no JSON to be read: its beginning is shown.
  }
  return clipped(one_line(text), kLongestComplaint);
}

std::uint64_t counted(const Json& reply, const char* key, std::string_view text) {
  if (reply.contains("usage") && reply["usage"].is_object() && reply["usage"].contains(key)) {
    const Json& count = reply["usage"][key];
    if (count.is_number_integer() && count >= 0 && count <= kMostCounted) return count.get<std::uint64_t>();
  }
  return estimated_tokens(text);
}

/// The text of the first choice. Throws a failure in words.
std::string text_of(const Json& reply) {
  if (!reply.is_object() || !reply.contains("choices") || !reply["choices"].is_array() || reply["choices"].empty() ||
      !reply["choices"][0].is_object() || !reply["choices"][0].contains("message") ||
      !reply["choices"][0]["message"].is_object())
    throw usage_error("the server's reply is no chat completion");
  const Json& message = reply["choices"][0]["message"];
  if (!message.contains("content") || !message["content"].is_string())
    throw usage_error("the model has answered no text");
  std::string text = message["content"].get<std::string>();
  if (text.size() > kLongestModelAnswer)
    throw usage_error(fmt::format("the answer has more than {} KiB", kLongestModelAnswer >> 10));
  return text;
}

bool is_completion(const std::string& body) {
  try {
    require_shallow_json(body, "");
  } catch (const Error&) {
    return false;
  }
  const Json json = Json::parse(body, nullptr, false);
  return json.is_object() && json.contains("choices");
}

/// Of statuses that are errors: whether the same request would be refused again.
bool is_lasting(long status) {
  return status >= 300 && status < 500 && status != 408 && status != 409 && status != 425 && status != 429;
}

bool may_be_about_form(long status) {
  return status == 400 || status == 404 || status == 405 || status == 415 || status == 422 || status == 501;
}

}  // namespace

std::string whole_text(const Prompt& prompt) {
  return prompt.system + "\n\n" + prompt.user;
}

std::uint64_t estimated_tokens(std::string_view text) {
  return text.size() / 4 + 1;
}

ChatReply read_reply(const HttpReply& reply, const Prompt& prompt, std::uint64_t answer_tokens) {
  ChatReply result;
  result.retry_after = reply.retry_after;
  result.lasting = is_lasting(reply.status);
  result.answer = clipped(reply.body, kLongestModelAnswer);
  // A server that stopped in the middle has read the prompt.
  if (!reply.failure.empty()) {
    if (reply.status != 0 || reply.failure.starts_with("no answer"))
      result.prompt_tokens = estimated_tokens(whole_text(prompt));
    result.failure = reply.failure;
    return result;
  }
  if (reply.status >= 300 && reply.status < 400) {
    result.failure =
        fmt::format("the server redirects ({}), which is not followed: give --llm-url where it leads", reply.status);
    return result;
  }
  if (reply.status != 200) {
    result.failure = fmt::format("the server answered {}: {}", reply.status, complaint_in(reply.body));
    return result;
  }
  result.prompt_tokens = estimated_tokens(whole_text(prompt));
  try {
    require_shallow_json(reply.body, "the server's reply");
    const Json json = Json::parse(reply.body, nullptr, false);
    result.answer = text_of(json);
    result.prompt_tokens = counted(json, "prompt_tokens", whole_text(prompt));
    result.answer_tokens = counted(json, "completion_tokens", result.answer);
    const Json& choice = json["choices"][0];
    if (choice.contains("finish_reason") && choice["finish_reason"] == "length")
      result.failure = fmt::format("the answer was cut after {} tokens", answer_tokens);
  } catch (const Error& error) {
    result.failure = error.what();
  }
  return result;
}

std::string ChatClient::body(const ModelQuestion& question, bool with_schema) const {
  Json messages = Json::array();
  if (!question.prompt.system.empty()) messages.push_back({{"role", "system"}, {"content", question.prompt.system}});
  messages.push_back({{"role", "user"}, {"content", question.prompt.user}});
  Json json = {{"model", question.model},
               {"messages", messages},
               {former_limit_ ? "max_tokens" : "max_completion_tokens", question.answer_tokens},
               {"stream", false}};
  if (question.temperature && with_temperature_) json["temperature"] = *question.temperature;
  if (with_schema && with_schema_) {
    json["response_format"] = {{"type", "json_schema"},
                               {"json_schema", {{"name", "proposals"}, {"schema", answer_schema()}}}};
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string ChatClient::without_key(std::string text) const {
  if (key_.empty()) return text;
  for (std::size_t at = text.find(key_); at != std::string::npos; at = text.find(key_, at))
    text.replace(at, key_.size(), "***");
  return text;
}

ChatReply ChatClient::ask(const ModelQuestion& question, const std::function<bool()>& given_up) {
  std::uint64_t requests = 0;
  const HttpReply got = post(question, options_.deadline, true, requests, given_up);
  ChatReply reply = read_reply(got, question.prompt, question.answer_tokens);
  reply.requests = requests;
  // A server may send the key back, also with characters of it escaped.
  reply.answer = without_key(std::move(reply.answer));
  reply.failure = without_key(std::move(reply.failure));
  return reply;
}

bool ChatClient::changes_form(const HttpReply& reply, const ModelQuestion& question, bool with_schema) {
  if (!reply.failure.empty() || !may_be_about_form(reply.status)) return false;
  const auto mentions = [&](const char* word) { return reply.body.find(word) != std::string::npos; };
  if ((reply.status == 404 || reply.status == 405) && url_ + 1 < options_.urls.size())
    ++url_;
  else if (former_limit_ && mentions("max_completion_tokens"))
    former_limit_ = false;
  else if (with_temperature_ && question.temperature && mentions("temperature"))
    with_temperature_ = false;
  else if (with_schema && with_schema_)  // Else there was none in the request, so it was not refused.
    with_schema_ = false;
  else
    return false;
  return true;
}

HttpReply ChatClient::post(const ModelQuestion& question, std::chrono::milliseconds deadline, bool with_schema,
                           std::uint64_t& requests, const std::function<bool()>& given_up) {
  while (true) {
    HttpReply reply = post_json({options_.urls[url_], key_, body(question, with_schema), deadline, 1 << 20, given_up});
    if (++requests >= question.most_requests || !changes_form(reply, question, with_schema)) return reply;
  }
}

void ChatClient::greet(const std::string& model) {
  constexpr std::chrono::milliseconds kPatience{60'000};
  const ModelQuestion question{model, {"", "Answer with one word: ready"}, {}, 16, 4};
  std::uint64_t requests = 0;
  const std::chrono::milliseconds deadline = std::min(kPatience, options_.deadline);
  const HttpReply reply = post(question, deadline, false, requests, {});
  const auto fail = [&](std::string_view what, std::string_view hint) {
    throw machine_error(without_key(fmt::format("--llm {}: {}: {}", model, what, hint)));
  };
  const std::string& url = options_.urls[url_];
  if (reply.status == 0 && !reply.failure.starts_with("no answer"))
    fail(fmt::format("no server at {} ({})", url, reply.failure), "start it, or name another with --llm-url");
  if (reply.status == 401 || reply.status == 403)
    fail(fmt::format("{} refuses the key ({}: {})", url, reply.status, complaint_in(reply.body)),
         fmt::format("put the right one into the environment as {}", kLlmKey));
  if (reply.status == 404)
    fail(fmt::format("{} knows no such model or address (404: {})", url, complaint_in(reply.body)),
         "name a model that it lists, or another --llm-url");
  if (is_lasting(reply.status) || (reply.status >= 500 && reply.retry_after.count() == 0))
    fail(fmt::format("{} answered {}: {}", url, reply.status, complaint_in(reply.body)), "see the server's log");
  if (reply.status == 200 && reply.failure.empty() && !is_completion(reply.body))
    fail(fmt::format("{} answers something else than chat completions", url), "name another --llm-url");
}

}  // namespace evo::cli
