#include "evaluator/worker/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "engine/base/error.h"
#include "evaluator/base/log.h"

extern char** environ;

namespace evo {
namespace {

constexpr int kSocketBytes = 4 << 20;

std::string name_of_signal(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

/// What posix_spawn needs, freed in every case.
class SpawnPlan {
 public:
  SpawnPlan(int socket_end, int stderr_end) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    // A kernel's printf goes to stdout: nobody wants to read it.
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, stderr_end, STDERR_FILENO);
    // Last: the socket may sit on a descriptor that was just read from.
    posix_spawn_file_actions_adddup2(&actions_, socket_end, kWorkerSocket);

    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

ExitStatus status_from_wait(int raw) {
  ExitStatus status;
  if (WIFSIGNALED(raw)) status.signal = WTERMSIG(raw);
  if (WIFEXITED(raw)) status.code = WEXITSTATUS(raw);
  return status;
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int UniqueFd::release() {
  return std::exchange(fd_, -1);
}

void UniqueFd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

SocketPair make_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw machine_error(fmt::format("cannot make a socket for a worker process: {}", std::strerror(errno)));
  }
  // Room for a few answers, so that a worker goes on while they are read. The system may grant less.
  for (const int end : ends) ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kSocketBytes, sizeof kSocketBytes);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string describe(const ExitStatus& status) {
  return status.signal != 0 ? "killed by " + name_of_signal(status.signal)
                            : fmt::format("exited with code {}", status.code);
}

Process::Process(const std::vector<std::string>& command, int socket_end, int stderr_end,
                 const std::vector<std::string>& environment) {
  std::vector<char*> arguments, variables;
  for (const std::string& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  for (char** inherited = environ; *inherited != nullptr; ++inherited) variables.push_back(*inherited);
  for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);
  // A descriptor that dup2 would overwrite before it is read moves out of the way first.
  UniqueFd socket_copy(::fcntl(socket_end, F_DUPFD_CLOEXEC, 10));
  UniqueFd stderr_copy(::fcntl(stderr_end, F_DUPFD_CLOEXEC, 10));
  if (!socket_copy.is_open() || !stderr_copy.is_open()) {
    throw machine_error(fmt::format("cannot start a worker process: {}", std::strerror(errno)));
  }
  const SpawnPlan plan(socket_copy.get(), stderr_copy.get());
  const int error = ::posix_spawn(&pid_, command.front().c_str(), plan.actions(), plan.attributes(), arguments.data(),
                                  variables.data());
  if (error != 0) {
    pid_ = -1;
    throw machine_error(fmt::format("cannot start the worker {}: {}", command.front(), std::strerror(error)));
  }
}

Process::~Process() {
  if (pid_ < 0 || ended_) return;
  kill();
  // The driver may take its time to tear down a context; only after that is the memory of the GPU free again.
  wait(std::chrono::seconds(30));
}

Process::Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), ended_(other.ended_) {}

double Process::cpu_seconds() const noexcept {
  clockid_t clock{};
  timespec used{};
  if (pid_ <= 0 || ::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

bool Process::is_stopped() const noexcept {
  siginfo_t info{};
  const bool told = pid_ > 0 && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0;
  return told && info.si_pid == pid_;
}

void Process::kill() noexcept {
  if (pid_ > 0 && !ended_) ::kill(pid_, SIGKILL);
}

std::optional<ExitStatus> Process::wait(std::chrono::milliseconds patience) noexcept {
  const auto until = std::chrono::steady_clock::now() + patience;
  auto pause = std::chrono::microseconds(100);
  while (pid_ > 0 && !ended_) {
    int raw = 0;
    const pid_t reaped = ::waitpid(pid_, &raw, WNOHANG);
    if (reaped == pid_) {
      ended_ = status_from_wait(raw);
    } else if (reaped < 0 && errno != EINTR) {
      ended_ = ExitStatus{};  // Not our child any more: nothing left to reap.
    } else if (std::chrono::steady_clock::now() >= until) {
      break;
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(10000));
    }
  }
  return ended_;
}

std::string last_line(std::string_view text) {
  while (true) {
    text = text.substr(0, text.find_last_not_of(" \n\r\t") + 1);
    const std::size_t before = text.find_last_of('\n') + 1;
    if (!is_log_line(text.substr(before))) return std::string(text.substr(before));
    text = text.substr(0, before);
  }
}

std::string this_host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

void become_worker() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
}

}  // namespace evo
