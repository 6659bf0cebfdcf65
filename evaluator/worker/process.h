#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evo {

/// Owns a file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() { reset(); }
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

/// The two ends of a stream socket, closed on exec. Throws machine_error when the system has no descriptors left.
struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};
SocketPair make_socket_pair();

/// How a process ended.
struct ExitStatus {
  int signal = 0;  ///< The one that killed it; 0: it exited by itself.
  int code = 0;
};
/// "killed by SIGSEGV", "exited with code 3".
std::string describe(const ExitStatus& status);

/// The last line of what a process wrote to standard error that is not empty and not of a worker's log: sanitizers,
/// assertions, std::terminate, ssh and shells say there why they ended.
std::string last_line(std::string_view text);

/// This machine's name in the network; empty when it has none.
std::string this_host();

/// The descriptor on which a worker finds its socket.
inline constexpr int kWorkerSocket = 3;

/// A child process. Its destructor kills and reaps it, so no zombie stays behind.
class Process {
 public:
  /// Starts `command` with stdin and stdout on /dev/null, `stderr_end` as stderr and `socket_end` as kWorkerSocket, in
  /// a process group of its own (Ctrl-C reaches the parent only). `environment`: "NAME=value" in addition to this
  /// process's. Throws machine_error when it does not start.
  Process(const std::vector<std::string>& command, int socket_end, int stderr_end,
          const std::vector<std::string>& environment = {});
  ~Process();
  Process(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  Process& operator=(Process&&) = delete;

  pid_t pid() const { return pid_; }
  /// Of its threads together, in seconds, since it began.
  double cpu_seconds() const noexcept;
  /// Whether somebody has stopped it (SIGSTOP).
  bool is_stopped() const noexcept;
  /// Sends SIGKILL; harmless when it has ended.
  void kill() noexcept;
  /// How it ended; empty when it has not within `patience`.
  std::optional<ExitStatus> wait(std::chrono::milliseconds patience) noexcept;

 private:
  pid_t pid_ = -1;
  std::optional<ExitStatus> ended_;
};

/// To be called first in a worker: it will die with its parent, gain no rights, leave no core file, and ignore SIGINT.
void become_worker();

}  // namespace evo
