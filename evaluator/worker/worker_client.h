#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "evaluator/worker/channel.h"
#include "evaluator/worker/process.h"
#include "evaluator/worker/protocol.h"

namespace evo {

/// Thrown where a raised stop signal ends the wait: unwinds a thread whose pipeline is being shut down.
struct Stopped {};

/// A request that got no answer.
struct Lost {
  enum class How {
    crashed,    ///< The worker ended.
    timed_out,  ///< Killed by us at its deadline.
    protocol,   ///< It answered something that is no answer; killed by us.
  };
  How how = How::crashed;
  std::string reason;  ///< "killed by SIGSEGV: LAST LINE OF STDERR"
  /// The candidate cannot be to blame: the worker was gone before it began, or somebody else killed it.
  bool blameless = false;
};

struct WorkerOptions {
  std::vector<std::string> command;  ///< Program and arguments.
  double start_deadline_s = 60;      ///< Until it says that its device or compiler is open.
  const StopSignal* stop = nullptr;
};

/// The parent's end of one worker process. Every call throws Stopped once the stop signal is raised. The process starts
/// with the first request and again after it was lost. Requests are answered in order; several may be on their way.
/// Used by one thread, which must live as long as the client (a worker dies with the thread that started it).
class WorkerClient {
 public:
  explicit WorkerClient(WorkerOptions options);
  ~WorkerClient();

  /// Starts the worker if there is none. Throws machine_error as send does.
  void start();

  /// Starts the worker if there is none and sends. Gives the request's id. A worker that dies before it answers is
  /// reported by receive. Throws machine_error when no worker can be started, with what it said.
  std::uint64_t send(protocol::Request request);

  /// The answer to the oldest request that has none, Started aside. `max_payload`: more bytes are a protocol error.
  /// After Lost every request on its way is lost too.
  std::variant<protocol::Reply, Lost> receive(double deadline_s, std::uint64_t max_payload);

  /// send + receive.
  std::variant<protocol::Reply, Lost> call(protocol::Request request, double deadline_s, std::uint64_t max_payload = 0);

  /// Ends the process; what is on its way is forgotten.
  void stop();
  bool running() const { return link_ != nullptr; }
  /// SIGKILL to the running process, as from outside: the client learns of it like of any other end.
  void kill_process() noexcept;
  /// How many processes were started.
  int starts() const { return starts_; }
  /// What the worker said it had opened.
  const std::string& opened() const { return opened_; }
  std::size_t pending() const { return pending_.size(); }

 private:
  struct Link;
  struct Pending {
    std::uint64_t id = 0;
    bool started = false;
  };

  void start_once();
  std::optional<protocol::ReplyMessage> receive_message(double deadline_s, std::uint64_t max_payload, Lost& lost);
  Lost lose(Lost::How how, std::string reason);
  Lost lose_to(TransferEnd end, double deadline_s);

  WorkerOptions options_;
  std::unique_ptr<Link> link_;
  std::deque<Pending> pending_;
  std::uint64_t next_id_ = 1;
  int starts_ = 0;
  std::string opened_;
};

}  // namespace evo
