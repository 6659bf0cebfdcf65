#include "cli/rivals/rival_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/proposer/guarded_command.h"
#include "cli/text/files.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"
#include "engine/base/json_depth.h"

namespace evo::cli {
namespace {

using Message = nlohmann::ordered_json;

constexpr std::uintmax_t kLongestErrors = 64 << 20;  // bytes
constexpr std::size_t kLongestWords = 400;           // bytes
/// Of a timing: as for candidates the clocks settle, then it lasts longer than they swing under a power limit.
constexpr double kWarmUpSeconds = 0.1;
constexpr double kSeconds = 0.1;

UniqueFd opened(const std::filesystem::path& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.is_open()) throw machine_error(fmt::format("cannot write {}: is the disk full?", path.string()));
  return file;
}

/// A text that is shown in tables: one line, not too long.
std::string word_of(const Message& json, const char* key) {
  std::string text = json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return clipped(text, kLongestWords);
}

}  // namespace

Message read_rival_answer(const std::string& line) {
  Message answer;
  try {
    require_shallow_json(line, "its answer");
    answer = Message::parse(line, nullptr, false);
  } catch (const Error& error) {
    throw LineFailure(error.what());
  }
  if (!answer.is_object()) throw LineFailure("its answer is no JSON object");
  if (answer.contains("error")) throw RivalRefusal(word_of(answer, "error"));
  return answer;
}

std::vector<RivalOffer> read_offers(const Message& answer) {
  if (!answer.contains("rivals") || !answer["rivals"].is_array())
    throw LineFailure("its answer is not {\"rivals\": [...]}");
  std::vector<RivalOffer> offers;
  for (const Message& item : answer["rivals"]) {
    RivalOffer offer{word_of(item, "name"), word_of(item, "version"), word_of(item, "note")};
    if (offer.name.empty()) throw LineFailure("one of its rivals has no name");
    offers.push_back(std::move(offer));
  }
  if (const std::string why = word_of(answer, "why"); offers.empty() && !why.empty()) throw RivalRefusal(why);
  return offers;
}

double read_time_us(const Message& answer) {
  const double us = answer.contains("us") && answer["us"].is_number() ? answer["us"].get<double>() : 0;
  if (!(std::isfinite(us) && us > 0)) throw LineFailure("its answer is not {\"us\": a positive number}");
  return us;
}

struct RivalProcess::Known {
  Message task;
  std::map<std::pair<std::string, std::string>, Message> sets;  ///< By rival and shape.
  std::set<std::pair<std::string, std::string>> prepared;       ///< By the process that runs.
};

RivalProcess::RivalProcess(const RivalProcessOptions& options, const Message& task)
    : label_(options.command.label),
      errors_(options.errors),
      error_file_(opened(options.errors)),
      process_({.command = guarded_command(options.command.command),
                .deadline_s = options.deadline_s,
                .ends = options.ends,
                .errors = error_file_.get()}),
      known_(std::make_unique<Known>()) {
  known_->task = task;
}

RivalProcess::~RivalProcess() = default;

void RivalProcess::lose(const LineFailure& failure) {
  process_.stop();
  known_->prepared.clear();
  std::string why = failure.what();
  // What a program writes as it dies says more than that it has died.
  if (const std::string last = last_line(read_file(errors_, kLongestErrors)); !last.empty()) why += " (" + last + ")";
  if (dynamic_cast<const LineTimeout*>(&failure) != nullptr) throw LineTimeout(why);
  throw LineFailure(why);
}

Message RivalProcess::receive() {
  try {
    return read_rival_answer(process_.receive());
  } catch (const LineFailure& failure) {
    lose(failure);
  }
}

template <typename Read>
auto RivalProcess::read(Read read, const Message& answer) {
  try {
    return read(answer);
  } catch (const LineFailure& failure) {
    lose(failure);
  }
}

Message RivalProcess::ask(const Message& message) {
  try {
    process_.send(message.dump(-1, ' ', false, Message::error_handler_t::replace) + "\n");
  } catch (const LineFailure& failure) {
    lose(failure);
  }
  return receive();
}

void RivalProcess::begin() {
  // What an earlier process wrote explains nothing of this one.
  if (::ftruncate(error_file_.get(), 0) != 0) throw machine_error(fmt::format("cannot empty {}", errors_.string()));
  process_.start();
  try {
    process_.send(known_->task.dump(-1, ' ', false, Message::error_handler_t::replace) + "\n");
  } catch (const LineFailure&) {
    // It has ended already: offers() says why.
  }
}

std::vector<RivalOffer> RivalProcess::offers() {
  return read(read_offers, receive());
}

void RivalProcess::prepare(const std::string& rival, const std::string& shape) {
  if (!process_.running()) {
    begin();
    receive();
  }
  const std::pair key(rival, shape);
  if (known_->prepared.contains(key)) return;
  ask({{"type", "run"}, {"rival", rival}, {"shape", shape}, {"sets", known_->sets.at(key)}});
  known_->prepared.insert(key);
}

void RivalProcess::run(const std::string& rival, const std::string& shape, const Message& sets) {
  known_->sets[{rival, shape}] = sets;
  known_->prepared.erase({rival, shape});
  prepare(rival, shape);
}

double RivalProcess::time_us(const std::string& rival, const std::string& shape, double turn_s) {
  prepare(rival, shape);
  const bool is_long = turn_s > 0;
  const Message answer = ask({{"type", "time"},
                              {"rival", rival},
                              {"shape", shape},
                              {"warm_up_s", is_long ? turn_s / 2 : kWarmUpSeconds},
                              {"seconds", is_long ? turn_s / 2 : kSeconds},
                              {"average", is_long ? "mean" : "median"}});
  return read(read_time_us, answer);
}

}  // namespace evo::cli
