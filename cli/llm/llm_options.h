#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace evo::cli {

/// The environment variable with the key of the language model's server. It may be unset: many servers need none.
inline constexpr const char* kLlmKey = "EVO_LLM_KEY";

/// The options of a language model as typed.
struct LlmTexts {
  std::string model;
  std::string url = "http://127.0.0.1:8000";
  std::string requests = "100";
  std::string tokens;
  std::string cost;
  std::string prices;
  std::string deadline = "5m";
  std::string context = "32768";
  std::string answer = "8192";
  std::string temperature;
  std::string refusals = "12";
  std::string record;
};

/// Language models of one server, and what may be spent on them.
struct LlmOptions {
  std::vector<std::string> models;
  /// Of POST requests. Where BASE has a path, the server decides which of the two it knows.
  std::vector<std::string> urls;
  std::uint64_t requests = 100;
  std::uint64_t tokens = UINT64_MAX;
  double cost = 0;          ///< The most, in the currency of the prices; 0: no limit.
  double prompt_price = 0;  ///< Of a million tokens.
  double answer_price = 0;
  std::chrono::milliseconds deadline{0};  ///< For an answer.
  std::uint64_t context = 32'768;         ///< Tokens of a prompt with its answer, at most.
  std::uint64_t answer = 8'192;           ///< Tokens of an answer, at most.
  std::optional<double> temperature;      ///< Empty: the server's own.
  std::uint64_t refusals = 12;            ///< Without a candidate between them, after which no model is asked.
  std::string record;                     ///< The file that keeps the session; empty: none.
};

/// Adds --llm and the options that begin with it.
void add_llm_options(CLI::App& command, LlmTexts& texts);

/// The names of these options.
std::vector<const char*> llm_option_names();

/// Throws usage_error, which names the option, for one that cannot be meant.
LlmOptions llm_options(const LlmTexts& texts);

/// The arguments of `evo llm` with the same options.
std::vector<std::string> llm_arguments(const LlmTexts& texts);

/// The key of the environment; empty without one. Throws usage_error for one that cannot stand in a header, and where
/// it would leave this machine unencrypted.
std::string llm_key(const LlmOptions& options);

/// Takes the key out of this process's environment, which workers and programs of others inherit and processes of the
/// same user can read. To be called first.
void take_llm_key();

/// For the environment of a process that is to have the key.
std::vector<std::string> llm_environment();

}  // namespace evo::cli
