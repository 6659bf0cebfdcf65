#include "cli/llm/chat.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/llm/answer.h"
#include "cli/text/json_text.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"

namespace evo::cli {
namespace {

constexpr std::size_t kLongestModelAnswer = 128 << 10;  // bytes
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

bool may_be_about_form(long status) {
  return status == 400 || status == 404 || status == 415 || status == 422 || status == 501;
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

std::string ChatClient::body(const Prompt& prompt, std::uint64_t answer_tokens) const {
  Json json = {
      {"model", options_.model},
      {"messages", {{{"role", "system"}, {"content", prompt.system}}, {{"role", "user"}, {"content", prompt.user}}}},
      {former_limit_ ? "max_tokens" : "max_completion_tokens", answer_tokens},
      {"stream", false}};
  if (with_schema_) {
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

ChatReply ChatClient::ask(const Prompt& prompt, std::uint64_t answer_tokens, std::uint64_t most_requests,
                          const std::function<bool()>& given_up) {
  ChatReply reply = post(prompt, answer_tokens, most_requests, given_up);
  // A server may send the key back, also with characters of it escaped.
  reply.answer = without_key(std::move(reply.answer));
  reply.failure = without_key(std::move(reply.failure));
  return reply;
}

ChatReply ChatClient::post(const Prompt& prompt, std::uint64_t answer_tokens, std::uint64_t most_requests,
                           const std::function<bool()>& given_up) {
  HttpReply reply;
  std::uint64_t requests = 0;
  while (true) {
    reply = post_json({options_.url, key_, body(prompt, answer_tokens), options_.deadline, 1 << 20, given_up});
    ++requests;
    if (requests >= most_requests || !reply.failure.empty() || !may_be_about_form(reply.status)) break;
    // The server does not take the form of the request: without what it may not know, it is made again.
    if (former_limit_ && reply.body.find("max_completion_tokens") != std::string::npos)
      former_limit_ = false;
    else if (with_schema_)
      with_schema_ = false;
    else
      break;
  }
  ChatReply result = read_reply(reply, prompt, answer_tokens);
  result.requests = requests;
  return result;
}

}  // namespace evo::cli
