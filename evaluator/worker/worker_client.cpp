#include "evaluator/worker/worker_client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "engine/base/error.h"
#include "evaluator/base/log.h"
#include "evaluator/device/recipe_fingerprint.h"
#include "evaluator/worker/remote_link.h"

namespace evo {
namespace {

using namespace std::chrono_literals;

/// A GPU whose last context was killed may need a moment before it can be opened again.
constexpr int kStartAttempts = 3;

/// How long a worker whose socket is closed may take to end, before it is killed.
constexpr auto kExitPatience = 2s;

/// A worker that computes and got less of a CPU than this until its deadline was hindered.
constexpr double kLeastShareOfCpu = 0.25;

/// What takes so long is in the log, whatever its level.
constexpr double kSlowRequestSeconds = 10;

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Verdict verdict_of(const Lost& lost) {
  if (lost.blameless || lost.how == Lost::How::protocol) return Verdict::harness_failed;
  return lost.how == Lost::How::timed_out ? Verdict::timed_out : Verdict::crashed;
}

struct WorkerClient::Link {
  Process process;
  Channel channel;
  Clock::time_point begun = Clock::now();
  bool ready = false;
  double cpu_before = 0;  ///< Seconds of CPU time when the wait for a message began.
};

WorkerClient::WorkerClient(WorkerOptions options) : options_(std::move(options)) {}

WorkerClient::~WorkerClient() {
  stop();
}

std::string WorkerClient::called() const {
  const std::chrono::duration<double> lived = Clock::now() - link_->begun;
  return fmt::format("worker {} ({}), {} answers in {:.1f} s", link_->process.pid(), options_.name, answers_,
                     lived.count());
}

void WorkerClient::stop() {
  if (link_) log_line(LogLevel::info, [&] { return fmt::format("{}: is ended", called()); });
  forget();
}

void WorkerClient::forget() {
  link_.reset();
  pending_.clear();
}

void WorkerClient::start_once() {
  SocketPair sockets = make_socket_pair();
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) throw machine_error("cannot make a pipe for a worker: too many open files");
  UniqueFd errors_ours(pipe_ends[0]);
  const UniqueFd errors_theirs(pipe_ends[1]);
  Process process(options_.command, sockets.theirs.get(), errors_theirs.get());
  ++starts_;
  answers_ = 0;
  sent_cases_.clear();
  std::string name = fmt::format("worker {} ({})", process.pid(), options_.name);
  link_.reset(new Link{std::move(process),
                       Channel(std::move(sockets.ours), std::move(errors_ours), options_.stop, std::move(name))});
}

std::optional<Lost> WorkerClient::start() {
  std::optional<Lost> lost;
  if (link_ && pending_.empty() && link_->channel.has_ended()) lost = lose(Lost::How::crashed, "");
  start_if_none();
  return lost;
}

void WorkerClient::start_if_none() {
  for (int attempt = 1; !link_; ++attempt) {
    if (options_.stop != nullptr && options_.stop->raised()) throw Stopped{};
    start_once();
    Lost lost;
    const auto message = receive_message(options_.start_deadline_s, 0, lost);
    if (message && std::holds_alternative<protocol::Ready>(message->reply) && message->id == 0) {
      const auto& ready = std::get<protocol::Ready>(message->reply);
      opened_ = ready.what;
      at_once_ = std::max<std::size_t>(ready.at_once, 1);
      link_->ready = true;
      log_line(LogLevel::info, [&] { return fmt::format("{}: has opened {}, start {}", called(), opened_, starts_); });
      return;
    }
    const auto* broken = message ? std::get_if<protocol::Broken>(&message->reply) : nullptr;
    if (broken != nullptr)
      log_line(LogLevel::warning, [&] { return fmt::format("{}: does not open: {}", called(), broken->message); });
    stop();
    // What is missing from the start stays missing; what fails after a loss may come back.
    if (broken != nullptr && (starts_ == 1 || attempt == kStartAttempts)) throw machine_error(broken->message);
    if (broken == nullptr && attempt == kStartAttempts) {
      throw machine_error(fmt::format("a worker process does not start ({}): {}", fmt::join(options_.command, " "),
                                      message ? "its first message is not the expected one" : lost.reason));
    }
    std::this_thread::sleep_for(attempt * 300ms);
  }
}

std::uint64_t WorkerClient::send(protocol::Request request) {
  start_if_none();
  if (auto* run = std::get_if<protocol::Run>(&request); run != nullptr && run->recipe) {
    run->case_name = fingerprint(*run->recipe);
    if (!sent_cases_.insert(run->case_name).second) run->recipe.reset();
  }
  const protocol::RequestMessage message{next_id_++, std::move(request)};
  pending_.push_back({message.id, false, protocol::name_of(message.request), Clock::now()});
  // A worker that has just died is noticed, with its reason, when its answer is waited for.
  link_->channel.send(protocol::encode(message), after(options_.start_deadline_s));
  return message.id;
}

std::variant<protocol::Reply, Lost> WorkerClient::receive(double deadline_s, std::uint64_t max_payload) {
  Lost lost;
  while (true) {
    const bool begun = pending_.empty() || pending_.front().started;
    auto message =
        receive_message(begun ? deadline_s : std::max(deadline_s, options_.ready_deadline_s), max_payload, lost);
    if (!message) return lost;
    if (pending_.empty() || message->id != pending_.front().id) {
      return lose(Lost::How::protocol, fmt::format("it answered request {}, which nobody is waiting for", message->id));
    }
    if (std::optional<Lost> failed = out_of_turn(pending_.front(), *message)) return *std::move(failed);
    if (std::holds_alternative<protocol::Started>(message->reply)) continue;
    log_answer(pending_.front());
    pending_.pop_front();
    return std::move(message->reply);
  }
}

std::optional<Lost> WorkerClient::out_of_turn(Pending& asked, const protocol::ReplyMessage& message) {
  const bool says_started = std::holds_alternative<protocol::Started>(message.reply);
  if (says_started == asked.started) {
    return lose(Lost::How::protocol,
                says_started ? "it began a request twice" : "it answered a request it had not begun");
  }
  asked.started = true;
  return std::nullopt;
}

std::optional<std::variant<WorkerClient::Answer, Lost>> WorkerClient::receive_any(const WakeSignal& wake,
                                                                                  double deadline_s) {
  const Clock::time_point deadline = after(deadline_s);
  Lost lost;
  while (true) {
    link_->cpu_before = link_->process.cpu_seconds();
    const TransferEnd end = link_->channel.wait(wake, deadline);
    if (end == TransferEnd::woken) return std::nullopt;
    if (end != TransferEnd::complete) return lose_to(end, deadline_s);
    auto message = receive_message(deadline_s, protocol::kMaxProgramBytes, lost);
    if (!message) return lost;
    const auto asked = std::ranges::find(pending_, message->id, &Pending::id);
    if (asked == pending_.end())
      return lose(Lost::How::protocol, fmt::format("it answered request {}, which nobody asked", message->id));
    if (std::optional<Lost> failed = out_of_turn(*asked, *message)) return *std::move(failed);
    if (std::holds_alternative<protocol::Started>(message->reply)) continue;
    log_answer(*asked);
    pending_.erase(asked);
    return Answer{message->id, std::move(message->reply)};
  }
}

std::string WorkerClient::at_what() const {
  if (!link_->ready) return "before it was ready";
  if (pending_.empty()) return "while it had nothing to do";
  return fmt::format("at {}", pending_.front().what);
}

void WorkerClient::log_answer(const Pending& asked) {
  ++answers_;
  if (!logs(LogLevel::info)) return;
  const std::chrono::duration<double> took = Clock::now() - asked.sent;
  const bool slow = took.count() >= kSlowRequestSeconds;
  log_line(slow ? LogLevel::info : LogLevel::debug, [&] {
    return fmt::format("{}: {} took {:.3f} s{}", called(), asked.what, took.count(), slow ? ", which is slow" : "");
  });
}

void WorkerClient::keep(std::vector<std::byte> payload) {
  if (link_) link_->channel.keep(std::move(payload));
}

std::variant<protocol::Reply, Lost> WorkerClient::call(protocol::Request request, double deadline_s,
                                                       std::uint64_t max_payload) {
  send(std::move(request));
  return receive(deadline_s, max_payload);
}

std::optional<protocol::ReplyMessage> WorkerClient::receive_message(double deadline_s, std::uint64_t max_payload,
                                                                    Lost& lost) {
  if (!link_) {
    lost = Lost{Lost::How::crashed, "the worker was lost with an earlier request", true};
    return std::nullopt;
  }
  try {
    protocol::Frame frame;
    link_->cpu_before = link_->process.cpu_seconds();
    const TransferEnd end = link_->channel.receive(frame, after(deadline_s), max_payload);
    if (end == TransferEnd::complete) return protocol::decode_reply(std::move(frame));
    lost = lose_to(end, deadline_s);
  } catch (const protocol::ProtocolError& error) {
    lost = lose(Lost::How::protocol, error.what());
  }
  return std::nullopt;
}

Lost WorkerClient::lose_to(TransferEnd end, double deadline_s) {
  if (end == TransferEnd::stopped) {
    stop();
    throw Stopped{};
  }
  if (end == TransferEnd::deadline) {
    const bool begun = pending_.empty() || pending_.front().started;
    if (std::string why = why_it_stood_still(deadline_s); !why.empty()) {
      log_line(LogLevel::warning, [&] { return fmt::format("{}: is lost {}: {}", called(), at_what(), why); });
      forget();
      return Lost{Lost::How::crashed, std::move(why), true};
    }
    return lose(Lost::How::timed_out, begun ? fmt::format("no answer within {:g} s", deadline_s)
                                            : fmt::format("its inputs were not ready within {:g} s", deadline_s));
  }
  return lose(Lost::How::crashed, "");
}

std::string WorkerClient::why_it_stood_still(double deadline_s) const {
  if (link_->process.is_stopped()) return fmt::format("was stopped by somebody for {:g} s", deadline_s);
  const double used_s = link_->process.cpu_seconds() - link_->cpu_before;
  if (!options_.computes || used_s >= kLeastShareOfCpu * deadline_s) return {};
  return fmt::format("got {:.2g} s of CPU time within {:g} s: the machine is too busy", used_s, deadline_s);
}

Lost WorkerClient::lose(Lost::How how, std::string reason) {
  Lost lost{how, std::move(reason), pending_.empty() || !pending_.front().started};
  if (how == Lost::How::crashed) {
    std::optional<ExitStatus> status = link_->process.wait(kExitPatience);
    // SIGKILL that is not ours: the system's memory watch or a person.
    if (status && status->signal == SIGKILL) lost.blameless = true;
    lost.reason = status ? describe(*status) : "closed its socket and went on";
    const std::string said = last_line(link_->channel.error_tail());
    if (!said.empty()) lost.reason += ": " + said;
    if (status && status->signal == 0 && status->code == kLinkLost) {
      lost.blameless = true;
      lost.reason = "lost: " + said;
    }
  }
  if (how == Lost::How::protocol) lost.blameless = false;
  log_line(LogLevel::warning, [&] { return fmt::format("{}: is lost {}: {}", called(), at_what(), lost.reason); });
  forget();
  return lost;
}

}  // namespace evo
