#include "evaluator/worker/prefix_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "evaluator/worker/process.h"

namespace evo {
namespace {

constexpr std::size_t kMostSaid = 1 << 20;

struct Pipe {
  UniqueFd ours, theirs;
};

Pipe open_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// False at the end of what comes.
bool read_on(int fd, std::string& into) {
  std::array<char, 4096> buffer;
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got > 0 && into.size() < kMostSaid) into.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

}  // namespace

pid_t start_behind(const std::string& prefix, std::vector<std::string> words, int in, int out, int errors) {
  const std::string script = fmt::format("exec {} \"$@\"", prefix);
  words.insert(words.begin(), {"/bin/sh", "-c", script, "sh"});
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child > 0) ::setpgid(child, child);  // Whoever comes first: the group may be killed at once.
  if (child != 0) return child;
  ::setpgid(0, 0);  // Ctrl-C reaches the parent only.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  // Out of the way of those that are about to be replaced.
  in = ::fcntl(in, F_DUPFD_CLOEXEC, 10);
  out = ::fcntl(out, F_DUPFD_CLOEXEC, 10);
  errors = ::fcntl(errors, F_DUPFD_CLOEXEC, 10);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  ::execv(raw[0], raw.data());
  ::_exit(127);
}

CommandResult run_behind(const std::string& prefix, const std::vector<std::string>& words, const std::string& input,
                         double seconds, const StopSignal* stop) {
  using Clock = std::chrono::steady_clock;
  CommandResult result;
  const UniqueFd in(::open(input.empty() ? "/dev/null" : input.c_str(), O_RDONLY | O_CLOEXEC));
  Pipe out = open_pipe(), errors = open_pipe();
  if (!in.is_open() || !out.ours.is_open() || !errors.ours.is_open()) {
    result.complaint = "too many open files here";
    return result;
  }
  const pid_t child = start_behind(prefix, words, in.get(), out.theirs.get(), errors.theirs.get());
  out.theirs.reset();
  errors.theirs.reset();
  if (child < 0) {
    result.complaint = "cannot start a process here";
    return result;
  }
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::string complaints;
  bool more_said = true, more_complaints = true, in_time = true, stopped = false;
  while ((more_said || more_complaints) && in_time && !stopped) {
    std::array<pollfd, 3> watched{{{more_said ? out.ours.get() : -1, POLLIN, 0},
                                   {more_complaints ? errors.ours.get() : -1, POLLIN, 0},
                                   {stop != nullptr ? stop->fd() : -1, POLLIN, 0}}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    in_time = left > 0;
    ::poll(watched.data(), watched.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    if (watched[0].revents != 0) more_said = read_on(out.ours.get(), result.said);
    if (watched[1].revents != 0) more_complaints = read_on(errors.ours.get(), complaints);
    stopped = watched[2].revents != 0;
  }
  if (!in_time || stopped) ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.done = in_time && !stopped && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (result.done) return result;
  result.complaint = last_line(complaints);
  if (!in_time) {
    result.complaint = fmt::format("no answer within {:g} s", seconds);
  } else if (result.complaint.empty()) {
    result.complaint = WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                         : fmt::format("killed by signal {}", WTERMSIG(status));
  }
  return result;
}

}  // namespace evo
