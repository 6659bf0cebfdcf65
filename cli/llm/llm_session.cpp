#include "cli/llm/llm_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "cli/llm/answer.h"
#include "cli/llm/budget.h"
#include "cli/llm/chat.h"
#include "cli/llm/http_client.h"
#include "cli/llm/prompt.h"
#include "cli/text/exit_code.h"
#include "cli/text/json_text.h"
#include "cli/text/streams.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"

namespace evo::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostUnanswered = 5;  // requests in a row without an answer, after which the server is left alone

/// Asks a model in a thread of its own.
class LlmSession {
 public:
  explicit LlmSession(const LlmOptions& options)
      : options_(options),
        client_(options, llm_key(options)),
        budget_(options),
        thread_([this](const std::stop_token& stop) { work(stop); }) {}
  ~LlmSession() {
    thread_.request_stop();
    wake_.notify_all();
  }
  LlmSession(const LlmSession&) = delete;
  LlmSession& operator=(const LlmSession&) = delete;

  void set_task(Json task) {
    const std::lock_guard lock(mutex_);
    task_ = std::move(task);
  }

  /// What has come in since the last question. Then the model is asked this one, unless it is busy.
  Json answer(Json question) {
    const std::lock_guard lock(mutex_);
    if (!begun_) budget_.begin_with(spent(question, "requests"), spent(question, "tokens"), question_cost(question));
    begun_ = true;
    Json line = {{"exchanges", std::move(exchanges_)}, {"proposals", std::move(proposals_)}};
    exchanges_ = Json::array();
    proposals_ = Json::array();
    // Refusals are reported once: those of questions that the model was not asked are kept for the next.
    for (Json& refusal : refused_) question["refused"].push_back(std::move(refusal));
    refused_.clear();
    if (busy_ || ended_ || Clock::now() < not_before_) {
      for (const Json& refusal : question["refused"]) keep_refusal(refusal);
    } else {
      begin(question);
    }
    if (ended_ && !busy_) line["done"] = true;
    return line;
  }

 private:
  static std::uint64_t spent(const Json& question, const char* what) {
    const Json& spent = question.contains("spent") ? question["spent"] : Json::object();
    return spent.is_object() ? spent.value(what, std::uint64_t{0}) : 0;
  }
  static double question_cost(const Json& question) {
    return question.contains("spent") && question["spent"].is_object() ? question["spent"].value("cost", 0.0) : 0;
  }

  void keep_refusal(const Json& refusal) {
    constexpr std::size_t kKept = 16;
    refused_.push_back(refusal);
    if (refused_.size() > kKept) refused_.erase(refused_.begin());
  }

  void begin(const Json& question) {
    prompt_ = prompt_for(task_, question, trouble_, prompt_bytes(options_));
    answer_tokens_ = budget_.next_answer(estimated_tokens(whole_text(prompt_)));
    if (answer_tokens_ == 0) {
      end(budget_.why_exhausted());
      return;
    }
    busy_ = true;
    wake_.notify_all();
  }

  void end(const std::string& why) {
    ended_ = true;
    write_to_stderr(fmt::format("llm: {}; the search goes on without it\n", one_line(why)));
  }

  void work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      Prompt prompt;
      std::uint64_t answer_tokens = 0, requests = 0;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, stop, [this] { return busy_; });
        if (stop.stop_requested()) return;
        prompt = prompt_;
        answer_tokens = answer_tokens_;
        requests = budget_.requests_left();
      }
      const Clock::time_point start = Clock::now();
      ChatReply reply = client_.ask(prompt, answer_tokens, requests, [&] { return stop.stop_requested(); });
      if (stop.stop_requested()) return;
      const std::lock_guard lock(mutex_);
      take(prompt, std::move(reply), std::chrono::duration<double>(Clock::now() - start).count());
      busy_ = false;
    }
  }

  /// The proposals of a reply, and its record.
  void take(const Prompt& prompt, ChatReply reply, double seconds) {
    budget_.spend(reply.requests, reply.prompt_tokens, reply.answer_tokens);
    const bool reached = reply.failure.empty();
    if (reached) {
      ModelAnswer answer = read_answer(reply.answer);
      reply.failure = answer.failure;
      for (Json& proposal : answer.proposals) {
        if (proposal.is_object()) proposal["exchange"] = number_ + 1;
        proposals_.push_back(std::move(proposal));
      }
    }
    trouble_ = reached ? reply.failure : "";
    ++number_;
    exchanges_.push_back({{"id", number_},
                          {"model", options_.model},
                          {"prompt", whole_text(prompt)},
                          {"answer", reply.answer},
                          {"prompt_tokens", reply.prompt_tokens},
                          {"answer_tokens", reply.answer_tokens},
                          {"cost", budget_.cost_of(reply.prompt_tokens, reply.answer_tokens)},
                          {"seconds", seconds},
                          {"failure", reply.failure}});
    if (reply.failure.empty()) {
      failures_ = 0;
    } else {
      failed(reply.failure);
    }
  }

  void failed(const std::string& why) {
    ++failures_;
    if (failures_ >= kMostUnanswered) {
      end(fmt::format("{}, {} times in a row", why, failures_));
      return;
    }
    const std::chrono::seconds pause(1 << failures_);
    not_before_ = Clock::now() + pause;
    write_to_stderr(fmt::format("llm: {}; asked again in {} s\n", one_line(clipped(why, 300)), pause.count()));
  }

  LlmOptions options_;
  ChatClient client_;  // the thread's
  std::mutex mutex_;   // of all that follows
  std::condition_variable_any wake_;
  LlmBudget budget_;
  Json task_;
  Json exchanges_ = Json::array();
  Json proposals_ = Json::array();
  std::vector<Json> refused_;
  Prompt prompt_;
  std::uint64_t answer_tokens_ = 0;
  std::string trouble_;
  std::int64_t number_ = 0;
  int failures_ = 0;
  Clock::time_point not_before_;
  bool begun_ = false;
  bool busy_ = false;
  bool ended_ = false;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace

int propose_by_llm(const LlmOptions& options) {
  require_http_client();
  LlmSession session(options);
  for (std::string line; std::getline(std::cin, line);) {
    Json message = Json::parse(line, nullptr, false);
    const std::string type = message.is_object() && message.contains("type") && message["type"].is_string()
                                 ? message["type"].get<std::string>()
                                 : "";
    if (type == "task") {
      session.set_task(std::move(message));
    } else if (type == "propose") {
      std::cout << session.answer(std::move(message)).dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
    } else {
      throw usage_error("evo llm reads the lines of a search: give it to evo run as --llm, or add --dry-run");
    }
  }
  return kDone;
}

}  // namespace evo::cli
