#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/llm/http_client.h"
#include "cli/llm/llm_options.h"

namespace evo::cli {

/// A question to a language model.
struct Prompt {
  std::string system;
  std::string user;
};

/// As one text, for people and for the database.
std::string whole_text(const Prompt& prompt);

/// An estimate of a text's tokens: one for every four bytes.
std::uint64_t estimated_tokens(std::string_view text);

struct ChatReply {
  std::string answer;   ///< The model's text, or what the server said instead; the key is not in it.
  std::string failure;  ///< Why it is no answer, in one line; empty: it is one.
  std::uint64_t requests = 0;
  std::uint64_t prompt_tokens = 0;  ///< As the server counted them, else estimated; 0 where it refused the request.
  std::uint64_t answer_tokens = 0;
};

/// What a server's reply says; its `requests` are not counted.
ChatReply read_reply(const HttpReply& reply, const Prompt& prompt, std::uint64_t answer_tokens);

/// Asks a server with POST BASE/v1/chat/completions. The answer is to follow answer_schema(); a server that refuses to
/// enforce a schema is asked without.
class ChatClient {
 public:
  ChatClient(LlmOptions options, std::string key) : options_(std::move(options)), key_(std::move(key)) {}

  /// Whatever the server does, it returns by the deadline. `most_requests`: at least one is made.
  ChatReply ask(const Prompt& prompt, std::uint64_t answer_tokens, std::uint64_t most_requests,
                const std::function<bool()>& given_up);

 private:
  ChatReply post(const Prompt& prompt, std::uint64_t answer_tokens, std::uint64_t most_requests,
                 const std::function<bool()>& given_up);
  std::string body(const Prompt& prompt, std::uint64_t answer_tokens) const;
  std::string without_key(std::string text) const;

  LlmOptions options_;
  std::string key_;
  bool with_schema_ = true;
  bool former_limit_ = true;  // max_tokens; some servers take only max_completion_tokens
};

}  // namespace evo::cli
