#include "cli/llm/session_record.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/llm/answer.h"
#include "cli/llm/conversation.h"
#include "cli/text/exit_code.h"
#include "cli/text/files.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/streams.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"
#include "engine/base/text.h"

namespace evo::cli {
namespace {

constexpr int kFormat = 1;  // of the file
constexpr std::uintmax_t kLargestRecord = std::uintmax_t{4} << 30;

/// What decides about prompts, models and pauses.
Json options_json(const LlmOptions& options) {
  return {{"models", options.models},
          {"requests", options.requests},
          {"tokens", options.tokens},
          {"cost", options.cost},
          {"prompt_price", options.prompt_price},
          {"answer_price", options.answer_price},
          {"context", options.context},
          {"answer", options.answer},
          {"temperature", or_null(options.temperature)},
          {"refusals", options.refusals}};
}

LlmOptions options_in(const Json& json) {
  LlmOptions options;
  json.at("models").get_to(options.models);
  json.at("requests").get_to(options.requests);
  json.at("tokens").get_to(options.tokens);
  json.at("cost").get_to(options.cost);
  json.at("prompt_price").get_to(options.prompt_price);
  json.at("answer_price").get_to(options.answer_price);
  json.at("context").get_to(options.context);
  json.at("answer").get_to(options.answer);
  json.at("refusals").get_to(options.refusals);
  if (!json.at("temperature").is_null()) options.temperature = json["temperature"].get<double>();
  if (options.models.empty() || options.answer > options.context / 2) throw usage_error("its options cannot be meant");
  return options;
}

Json reply_json(const ChatReply& reply) {
  return {{"answer", reply.answer},
          {"failure", reply.failure},
          {"lasting", reply.lasting},
          {"retry_after_s", reply.retry_after.count()},
          {"requests", reply.requests},
          {"prompt_tokens", reply.prompt_tokens},
          {"answer_tokens", reply.answer_tokens}};
}

ChatReply reply_in(const Json& json) {
  ChatReply reply;
  json.at("answer").get_to(reply.answer);
  json.at("failure").get_to(reply.failure);
  json.at("lasting").get_to(reply.lasting);
  reply.retry_after = std::chrono::seconds(json.at("retry_after_s").get<std::int64_t>());
  json.at("requests").get_to(reply.requests);
  json.at("prompt_tokens").get_to(reply.prompt_tokens);
  json.at("answer_tokens").get_to(reply.answer_tokens);
  return reply;
}

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// A session that is repeated, and what of it is printed.
class Replay {
 public:
  void read(const Json& entry) {
    if (entry.contains("session")) {
      if (entry["session"] != kFormat) throw usage_error("it is of another version of evo");
      session_.emplace(options_in(entry.at("options")));
      return;
    }
    if (!session_) throw usage_error("it does not begin with the session's options");
    const double at = entry.at("at").get<double>();
    if (entry.contains("line"))
      take_line(entry["line"], at);
    else if (entry.contains("answered"))
      compare(entry["answered"]);
    else
      take_reply(reply_in(entry.at("reply")), entry.at("seconds").get<double>(), at);
    for (const std::string& notice : session_->notices()) print("   {}\n", one_line(notice));
  }

  int end() const {
    print("{}, {}: {}\n", counted(exchanges_, "exchange"), counted(proposals_, "proposal"),
          different_ == 0 ? "as they were recorded"
                          : fmt::format("{} differ from the record", counted(different_, "answer")));
    return different_ == 0 ? kDone : kNothingValid;
  }

 private:
  static std::string counted(std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  }

  void take_line(const Json& line, double at) {
    if (line.value("type", "") == "task") return session_->set_task(line);
    answer_ = session_->answer(line, at);
  }

  void compare(const Json& recorded) {
    if (json_line(answer_) == json_line(recorded)) return;
    ++different_;
    print("   it answers the search {}, and answered {}\n", one_line(clipped(json_line(answer_), 300, "...")),
          one_line(clipped(json_line(recorded), 300, "...")));
  }

  void take_reply(ChatReply reply, double seconds, double at) {
    if (!session_->asked()) {
      ++different_;
      return print("   a reply to nothing: the session would not have asked\n");
    }
    const ModelQuestion& asked = *session_->asked();
    print("{}  {}: {} bytes asked, {} tokens answered in {}\n", ++exchanges_, one_line(asked.model),
          grouped(std::uint64_t{whole_text(asked.prompt).size()}), grouped(reply.answer_tokens),
          duration_text(seconds));
    if (!reply.failure.empty()) print("   {}\n", one_line(reply.failure));
    if (reply.failure.empty())
      for (const Json& proposal : read_answer(reply.answer).proposals) {
        ++proposals_;
        print("   {}\n", one_line(clipped(json_line(proposal), 300, "...")));
      }
    session_->take(std::move(reply), seconds, at);
  }

  std::optional<Conversation> session_;
  Json answer_;
  std::size_t exchanges_ = 0;
  std::size_t proposals_ = 0;
  std::size_t different_ = 0;
};

}  // namespace

SessionRecorder::SessionRecorder(const LlmOptions& options) : name_(options.record) {
  if (name_.empty()) return;
  file_.open(name_, std::ios::app | std::ios::binary);
  write({{"session", kFormat}, {"evo", EVO_VERSION}, {"options", options_json(options)}});
}

void SessionRecorder::write(const Json& entry) {
  if (name_.empty()) return;
  file_ << json_line(entry) << std::endl;
  if (file_) return;
  write_to_stderr(fmt::format("llm: {} cannot be written: the session is not recorded any more\n", name_));
  name_.clear();
}

void SessionRecorder::line(double at, const Json& line) {
  if (!name_.empty()) write({{"at", at}, {"line", line}});
}

void SessionRecorder::answered(double at, const Json& answer) {
  if (!name_.empty()) write({{"at", at}, {"answered", answer}});
}

void SessionRecorder::reply(double at, double seconds, const ChatReply& reply) {
  if (!name_.empty()) write({{"at", at}, {"seconds", seconds}, {"reply", reply_json(reply)}});
}

void require_new_record(const std::string& file) {
  if (file.empty()) return;
  std::error_code error;
  if (std::filesystem::exists(file, error))
    throw usage_error(fmt::format("--llm-record {}: there is such a file already: name a new one", file));
  std::ofstream made(file, std::ios::binary);
  if (!made) throw machine_error(fmt::format("--llm-record {}: {}", file, std::strerror(errno)));
  made.close();
  std::filesystem::remove(file, error);  // The run may still be refused.
}

int replay_session(const std::filesystem::path& file) {
  Replay replay;
  std::size_t number = 0;
  const std::string text = read_file(file, kLargestRecord);
  try {
    for (const std::string& line : split(text, '\n')) {
      ++number;
      if (line.empty()) continue;
      require_shallow_json(line, "it");
      replay.read(Json::parse(line));
    }
  } catch (const Json::exception&) {
    throw usage_error(fmt::format("{}:{}: no line of a session that --llm-record keeps", file.string(), number));
  } catch (const Error& error) {
    throw usage_error(fmt::format("{}:{}: {}", file.string(), number, error.what()));
  }
  if (number <= 1) throw usage_error(fmt::format("{}: no session that --llm-record keeps", file.string()));
  return replay.end();
}

}  // namespace evo::cli
