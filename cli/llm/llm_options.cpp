#include "cli/llm/llm_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "cli/subject/arguments.h"
#include "engine/base/error.h"
#include "engine/base/text.h"

namespace evo::cli {
namespace {

std::string& taken_key() {
  static std::string key;
  return key;
}

constexpr std::uint64_t kLeastContext = 8'192;
constexpr std::uint64_t kMostContext = 1 << 20;
constexpr std::uint64_t kMostAnswer = 65'536;
constexpr std::size_t kMostModels = 16;
constexpr double kMostTemperature = 2;
constexpr std::size_t kLongestName = 200;  // bytes
constexpr std::string_view kPath = "/chat/completions";

constexpr std::pair<const char*, std::string LlmTexts::*> kTexts[] = {{"--llm", &LlmTexts::model},
                                                                      {"--llm-url", &LlmTexts::url},
                                                                      {"--llm-requests", &LlmTexts::requests},
                                                                      {"--llm-tokens", &LlmTexts::tokens},
                                                                      {"--llm-cost", &LlmTexts::cost},
                                                                      {"--llm-prices", &LlmTexts::prices},
                                                                      {"--llm-deadline", &LlmTexts::deadline},
                                                                      {"--llm-context", &LlmTexts::context},
                                                                      {"--llm-answer", &LlmTexts::answer},
                                                                      {"--llm-temperature", &LlmTexts::temperature},
                                                                      {"--llm-refusals", &LlmTexts::refusals},
                                                                      {"--llm-record", &LlmTexts::record}};

bool has_controls(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7F; });
}

/// "gpu7:8000" of "http://gpu7:8000/base".
std::string_view authority_of(std::string_view url) {
  const std::string_view rest = url.substr(url.find("//") + 2);
  return rest.substr(0, rest.find('/'));
}

bool is_this_machine(std::string_view authority) {
  return authority.starts_with("[::1]") || authority == "localhost" || authority.starts_with("localhost:") ||
         authority.starts_with("127.");
}

/// Whether a path ends with a version, such as /v1 or /openai/v1beta.
bool ends_with_version(std::string_view url) {
  const std::string_view last = url.substr(url.rfind('/') + 1);
  return last.size() > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9';
}

/// BASE/v1/chat/completions; of a base with a version BASE/chat/completions; of another path either.
std::vector<std::string> request_urls(std::string url) {
  const auto refuse = [&](const char* why) { throw usage_error(fmt::format("--llm-url '{}': {}", url, why)); };
  if (!url.starts_with("http://") && !url.starts_with("https://")) refuse("expected http://HOST:PORT or https://HOST");
  if (has_controls(url)) refuse("it has blanks or control characters");
  if (authority_of(url).empty()) refuse("it names no host");
  // A URL is stored with the run, as part of the command.
  if (authority_of(url).find('@') != std::string::npos)
    throw usage_error(fmt::format("--llm-url: it holds a password: put the key into the environment as {}", kLlmKey));
  if (url.find_first_of("?#") != std::string::npos) refuse("a base has neither ? nor #");
  while (url.ends_with('/')) url.pop_back();
  if (url.ends_with(kPath)) return {url};
  const std::string plain = url + std::string(kPath), versioned = url + "/v1" + std::string(kPath);
  if (url.substr(url.find("//") + 2) == authority_of(url)) return {versioned};
  if (ends_with_version(url)) return {plain};
  return {plain, versioned};
}

std::vector<std::string> names_of_models(const std::string& text) {
  std::vector<std::string> models = split(text, ',');
  const auto is_wrong = [](const std::string& model) {
    return model.empty() || model.size() > kLongestName || has_controls(model);
  };
  if (models.size() > kMostModels || std::ranges::any_of(models, is_wrong))
    throw usage_error(fmt::format(
        "--llm: expected the name of a model, as its server lists it, or up to {} joined by commas", kMostModels));
  return models;
}

double parse_amount(std::string_view option, std::string_view text) {
  const auto amount = number_in<double>(text);
  if (!amount || !std::isfinite(*amount) || *amount < 0)
    throw usage_error(fmt::format("{} '{}': expected a number such as 2.5", option, text));
  return *amount;
}

}  // namespace

void add_llm_options(CLI::App& command, LlmTexts& texts) {
  add_option(command, "--llm", "MODEL", texts.model,
             "A language model as a proposer: its name at a server with POST BASE/v1/chat/completions, such as "
             "vLLM, llama.cpp, Ollama or a hosted one; several, joined by commas, are asked by their success. Its key, "
             "if any, is in the environment as EVO_LLM_KEY (docs/proposer.md)");
  add_option(command, "--llm-url", "BASE", texts.url,
             "BASE of its server. If it has a path, that takes the place of /v1: https://HOST/api/v2");
  add_option(command, "--llm-requests", "N", texts.requests, "Ask it at most N times");
  add_option(command, "--llm-tokens", "N", texts.tokens, "Spend at most N tokens on it, prompts and answers together");
  add_option(command, "--llm-cost", "AMOUNT", texts.cost,
             "Spend at most this much money on it, in the currency of --llm-prices");
  add_option(command, "--llm-prices", "IN,OUT", texts.prices,
             "Prices of a million tokens of prompts and of answers: 0.15,0.6 (default: 0,0)");
  add_option(command, "--llm-deadline", "DURATION", texts.deadline,
             "Time limit of an answer; the search goes on meanwhile");
  add_option(command, "--llm-context", "N", texts.context, "Tokens that a prompt and its answer may have together");
  add_option(command, "--llm-answer", "N", texts.answer, "Tokens that an answer may have");
  add_option(command, "--llm-temperature", "T", texts.temperature,
             "How freely the model chooses its words, from 0 to 2 (default: as its server does)");
  add_option(command, "--llm-refusals", "N", texts.refusals,
             "Pause after N refused proposals without a candidate between them, until the run has a new best");
  add_option(command, "--llm-record", "FILE", texts.record,
             "Keep all that the model is asked and answers in this new file, for evo llm --replay");
}

std::vector<const char*> llm_option_names() {
  std::vector<const char*> names;
  for (const auto& [name, text] : kTexts) names.push_back(name);
  return names;
}

LlmOptions llm_options(const LlmTexts& texts) {
  LlmOptions options;
  options.models = names_of_models(texts.model);
  options.urls = request_urls(texts.url);
  options.requests = parse_number("--llm-requests", texts.requests, 1);
  if (!texts.tokens.empty()) options.tokens = parse_number("--llm-tokens", texts.tokens, 1);
  if (!texts.prices.empty()) {
    const std::vector<std::string> prices = split(texts.prices, ',');
    if (prices.size() != 2)
      throw usage_error(fmt::format("--llm-prices '{}': expected two prices, as 0.15,0.6", texts.prices));
    options.prompt_price = parse_amount("--llm-prices", prices[0]);
    options.answer_price = parse_amount("--llm-prices", prices[1]);
  }
  if (!texts.cost.empty()) {
    options.cost = parse_amount("--llm-cost", texts.cost);
    if (options.cost <= 0 || options.prompt_price + options.answer_price <= 0)
      throw usage_error("--llm-cost: expected an amount above 0, and --llm-prices to count it with");
  }
  options.deadline = parse_duration("--llm-deadline", texts.deadline);
  options.context = parse_number("--llm-context", texts.context, kLeastContext, kMostContext);
  options.answer = parse_number("--llm-answer", texts.answer, 256, kMostAnswer);
  if (options.answer > options.context / 2)
    throw usage_error(
        fmt::format("--llm-answer {}: at most half of --llm-context {}", options.answer, options.context));
  if (!texts.temperature.empty()) {
    options.temperature = parse_amount("--llm-temperature", texts.temperature);
    if (*options.temperature > kMostTemperature)
      throw usage_error(fmt::format("--llm-temperature '{}': at most {}", texts.temperature, kMostTemperature));
  }
  options.refusals = parse_number("--llm-refusals", texts.refusals, 1);
  options.record = texts.record;
  return options;
}

std::vector<std::string> llm_arguments(const LlmTexts& texts) {
  std::vector<std::string> arguments = {"llm"};
  // In one word: a text that begins with a dash is no option.
  for (const auto& [name, text] : kTexts)
    if (!(texts.*text).empty()) arguments.push_back(fmt::format("{}={}", name, texts.*text));
  return arguments;
}

void take_llm_key() {
  char* set = std::getenv(kLlmKey);
  if (set == nullptr) return;
  taken_key() = set;
  std::fill_n(set, taken_key().size(), ' ');  // /proc/PID/environ shows the memory itself.
  ::unsetenv(kLlmKey);
}

std::vector<std::string> llm_environment() {
  if (taken_key().empty()) return {};
  return {fmt::format("{}={}", kLlmKey, taken_key())};
}

std::string llm_key(const LlmOptions& options) {
  const std::string& key = taken_key();
  if (key.empty()) return key;
  if (has_controls(key)) throw usage_error(fmt::format("{} has blanks or control characters: it is no key", kLlmKey));
  if (options.urls.front().starts_with("http://") && !is_this_machine(authority_of(options.urls.front()))) {
    throw usage_error(fmt::format("{} would be sent unencrypted to {}: use https, or unset it", kLlmKey,
                                  authority_of(options.urls.front())));
  }
  return key;
}

}  // namespace evo::cli
