#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "evaluator/worker/channel.h"
#include "evaluator/worker/process.h"
#include "evaluator/worker/protocol.h"

namespace evo {

/// Thrown by a wait that a raised stop signal ends. It unwinds a thread whose pipeline is being shut down.
struct Stopped {};

/// A request that got no answer.
struct Lost {
  enum class How {
    crashed,    ///< The worker ended.
    timed_out,  ///< Killed by us at a deadline.
    protocol,   ///< It answered something that is no answer; killed by us.
  };
  How how = How::crashed;
  std::string reason;  ///< "killed by SIGSEGV: LAST LINE OF STDERR"
  /// The candidate cannot be to blame: the worker had not begun with it, or somebody else killed or stopped the worker.
  bool blameless = false;
};

/// The verdict on the candidate of a lost worker.
Verdict verdict_of(const Lost& lost);

/// The answer to a request: the reply that was asked for, or why there is none. Failure is the candidate's fault,
/// Broken the machine's. A reply of another kind is Broken too.
template <typename T>
using WorkerAnswer = std::variant<T, Failure, Lost, protocol::Broken>;

template <typename T>
WorkerAnswer<T> answer_as(std::variant<protocol::Reply, Lost> answer) {
  if (auto* lost = std::get_if<Lost>(&answer)) return std::move(*lost);
  auto& reply = std::get<protocol::Reply>(answer);
  if (auto* good = std::get_if<T>(&reply)) return std::move(*good);
  if (auto* failed = std::get_if<protocol::Failed>(&reply)) return std::move(failed->failure);
  return protocol::Broken{protocol::complaint_of(reply)};
}

struct WorkerOptions {
  std::vector<std::string> command;  ///< Program and arguments.
  double start_deadline_s = 60;      ///< Until it says that its device or compiler is open.
  const StopSignal* stop = nullptr;
  double ready_deadline_s = 120;  ///< Until it begins a request, whose inputs it draws before.
  /// It uses the CPU until it answers: one that got little of it by its deadline stood still, and its request is not to
  /// blame.
  bool computes = false;
  std::string name = "worker";  ///< In the log: "compile", "device cuda:0 on node7".
};

/// The parent's end of one worker process. The process starts with the first request, and again after it was lost.
/// Several requests may be on their way; they are answered in order. Every call throws Stopped once the stop signal is
/// raised. Used by one thread, which must live as long as the client: a worker dies with the thread that started it.
class WorkerClient {
 public:
  explicit WorkerClient(WorkerOptions options);
  ~WorkerClient();

  /// Starts the worker if there is none, or if it has ended while it had nothing to do: then its loss costs nobody a
  /// request, and is returned for whoever should be told. To be called before work that needs nothing of what the
  /// worker was sent earlier. Throws machine_error as send does.
  std::optional<Lost> start();

  /// Starts the worker if there is none and sends. Returns the request's id. receive() reports a worker that dies
  /// before it answers. Throws machine_error, with the worker's own message, when none can be started.
  std::uint64_t send(protocol::Request request);

  /// The answer to the oldest request on its way, at most deadline_s after it has begun. `max_payload`: more bytes are
  /// a protocol error. After Lost every request on its way is lost too.
  std::variant<protocol::Reply, Lost> receive(double deadline_s, std::uint64_t max_payload);

  /// Takes back a reply that is not needed any more: the next one is read into it.
  void keep(std::vector<std::byte> payload);

  /// send + receive.
  std::variant<protocol::Reply, Lost> call(protocol::Request request, double deadline_s,
                                           std::uint64_t max_payload = protocol::kMaxProgramBytes);
  /// The same, for a request that a T answers.
  template <typename T>
  WorkerAnswer<T> ask(protocol::Request request, double deadline_s,
                      std::uint64_t max_payload = protocol::kMaxProgramBytes) {
    return answer_as<T>(call(std::move(request), deadline_s, max_payload));
  }

  /// The answer to a request.
  struct Answer {
    std::uint64_t id = 0;
    protocol::Reply reply;
  };
  /// An answer to any request on its way, for a worker that works on several at once; Lost as with receive. Waits
  /// deadline_s at most. Empty once `wake` is raised. The worker must have been started.
  std::optional<std::variant<Answer, Lost>> receive_any(const WakeSignal& wake, double deadline_s);

  /// Ends the process; what is on its way is forgotten.
  void stop();
  bool running() const { return link_ != nullptr; }
  /// How many processes were started.
  int starts() const { return starts_; }
  /// What the worker has opened: a device's id, or the compiler's name.
  const std::string& opened() const { return opened_; }
  /// How many requests it works on at once.
  std::size_t at_once() const { return at_once_; }
  std::size_t pending() const { return pending_.size(); }

 private:
  struct Link;
  struct Pending {
    std::uint64_t id = 0;
    bool started = false;
    const char* what = "";  ///< For the log, as is the next.
    Clock::time_point sent;
  };

  void forget();
  void start_if_none();
  void start_once();
  /// In the log: the worker's name, its process and what it has done.
  std::string called() const;
  /// In the log: what a worker that is lost was doing.
  std::string at_what() const;
  void log_answer(const Pending& asked);
  /// Loses a worker that begins a request twice, or answers one that it has not begun.
  std::optional<Lost> out_of_turn(Pending& asked, const protocol::ReplyMessage& message);
  std::optional<protocol::ReplyMessage> receive_message(double deadline_s, std::uint64_t max_payload, Lost& lost);
  Lost lose(Lost::How how, std::string reason);
  Lost lose_to(TransferEnd end, double deadline_s);
  /// Why the wait since `cpu_before` (of Link) tells nothing of the request; empty: it does.
  std::string why_it_stood_still(double deadline_s) const;

  WorkerOptions options_;
  std::unique_ptr<Link> link_;
  std::deque<Pending> pending_;
  std::set<std::string> sent_cases_;  ///< Whose recipes this worker process has had.
  std::uint64_t next_id_ = 1;
  int starts_ = 0;
  std::uint64_t answers_ = 0;  ///< Of this worker process.
  std::string opened_;
  std::size_t at_once_ = 1;
};

}  // namespace evo
