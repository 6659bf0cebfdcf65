#include "cli/llm/llm_session.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "cli/llm/chat.h"
#include "cli/llm/conversation.h"
#include "cli/llm/http_client.h"
#include "cli/llm/session_record.h"
#include "cli/text/exit_code.h"
#include "cli/text/json_text.h"
#include "cli/text/streams.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"

namespace evo::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Asks models in a thread of its own.
class LlmSession {
 public:
  explicit LlmSession(const LlmOptions& options)
      : client_(options, llm_key(options)),
        conversation_(options),
        record_(options),
        thread_([this](const std::stop_token& stop) { work(stop); }) {}
  ~LlmSession() {
    thread_.request_stop();
    wake_.notify_all();
  }
  LlmSession(const LlmSession&) = delete;
  LlmSession& operator=(const LlmSession&) = delete;

  void set_task(Json task) {
    const std::lock_guard lock(mutex_);
    record_.line(now(), task);
    conversation_.set_task(std::move(task));
  }

  Json answer(Json question) {
    const std::lock_guard lock(mutex_);
    const double at = now();
    record_.line(at, question);
    Json line = conversation_.answer(std::move(question), at);
    record_.answered(at, line);
    tell_notices();
    wake_.notify_all();
    return line;
  }

 private:
  double now() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  void tell_notices() {
    for (const std::string& notice : conversation_.notices())
      write_to_stderr(fmt::format("llm: {}\n", one_line(notice)));
  }

  void work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ModelQuestion question;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, stop, [this] { return conversation_.asked().has_value(); });
        if (stop.stop_requested()) return;
        question = *conversation_.asked();
      }
      const double start = now();
      ChatReply reply = client_.ask(question, [&] { return stop.stop_requested(); });
      if (stop.stop_requested()) return;
      const std::lock_guard lock(mutex_);
      const double end = now();
      record_.reply(end, end - start, reply);
      conversation_.take(std::move(reply), end - start, end);
      tell_notices();
    }
  }

  const Clock::time_point begin_ = Clock::now();
  ChatClient client_;  // the thread's
  std::mutex mutex_;   // of all that follows
  std::condition_variable_any wake_;
  Conversation conversation_;
  SessionRecorder record_;
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
