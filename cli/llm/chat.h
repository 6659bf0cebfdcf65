#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
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
  std::string answer;    ///< The model's text, or what the server said instead; the key is not in it.
  std::string failure;   ///< Why it is no answer, in one line; empty: it is one.
  bool lasting = false;  ///< Of a failure: the server would say the same again, of a wrong key for example.
  std::chrono::seconds retry_after{0};  ///< How long the server wants to be left alone.
  std::uint64_t requests = 0;
  std::uint64_t prompt_tokens = 0;  ///< As the server counted them, else estimated; 0 where it refused the request.
  std::uint64_t answer_tokens = 0;
};

/// What a server's reply says; its `requests` are not counted.
ChatReply read_reply(const HttpReply& reply, const Prompt& prompt, std::uint64_t answer_tokens);

/// A question to one of the server's models.
struct ModelQuestion {
  std::string model;
  Prompt prompt;
  std::optional<double> temperature = {};
  std::uint64_t answer_tokens = 0;  ///< At most.
  std::uint64_t most_requests = 1;  ///< At least one is made.
};

/// Asks a server with POST BASE/v1/chat/completions. The answer is to follow answer_schema(); a server that refuses to
/// enforce a schema is asked without. Where BASE has a path, the server is asked at both places that it may mean.
class ChatClient {
 public:
  ChatClient(LlmOptions options, std::string key) : options_(std::move(options)), key_(std::move(key)) {}

  /// Whatever the server does, it returns by the deadline.
  ChatReply ask(const ModelQuestion& question, const std::function<bool()>& given_up);

  /// Asks for one word. Throws machine_error, which says what to do, when the server is not there, or refuses the key
  /// or the model. A server that is late or busy is there.
  void greet(const std::string& model);

 private:
  HttpReply post(const ModelQuestion& question, std::chrono::milliseconds deadline, bool with_schema,
                 std::uint64_t& requests, const std::function<bool()>& given_up);
  std::string body(const ModelQuestion& question, bool with_schema) const;
  /// Whether a server that refuses the form of a request is to be asked again in another one.
  bool changes_form(const HttpReply& reply, const ModelQuestion& question, bool with_schema);
  std::string without_key(std::string text) const;

  LlmOptions options_;
  std::string key_;
  std::size_t url_ = 0;  // of options_.urls, the one that the server knows
  bool with_schema_ = true;
  bool former_limit_ = true;  // max_tokens; some servers take only max_completion_tokens
  bool with_temperature_ = true;
};

}  // namespace evo::cli
