#include "cli/check/restricted_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "engine/base/error.h"
#include "evaluator/worker/rights.h"

namespace evo::cli {
namespace {

constexpr std::size_t kMostOutputBytes = 1 << 20;
constexpr int kNotStarted = 127;

[[noreturn]] void become_program(std::vector<char*> arguments, int output) {
  ::setpgid(0, 0);  // Its children are killed with it.
  become_worker();
  reduce_rights(WorkerKind::gpu);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execvp(arguments.front(), arguments.data());
  ::_exit(kNotStarted);
}

/// How the child ended; empty when it was killed at its deadline, with its process group.
std::optional<ExitStatus> ended_by(pid_t child, std::chrono::steady_clock::time_point deadline) {
  int raw = 0;
  while (true) {
    const pid_t reaped = ::waitpid(child, &raw, WNOHANG);
    if (reaped == child) {
      if (WIFSIGNALED(raw)) return ExitStatus{.signal = WTERMSIG(raw), .code = 0};
      return ExitStatus{.signal = 0, .code = WEXITSTATUS(raw)};
    }
    if (reaped < 0 && errno != EINTR) return ExitStatus{.signal = 0, .code = kNotStarted};
    if (std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ::kill(-child, SIGKILL);
  ::waitpid(child, &raw, 0);
  return std::nullopt;
}

std::string beginning_of(const std::filesystem::path& file) {
  std::string text(kMostOutputBytes, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

}  // namespace

ProgramResult run_restricted(const std::vector<std::string>& command, const std::filesystem::path& log,
                             std::chrono::seconds deadline) {
  std::vector<char*> arguments;
  for (const std::string& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  const UniqueFd output(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const pid_t child = output.is_open() ? ::fork() : -1;
  if (child < 0) throw machine_error(fmt::format("{} cannot be started: {}", command.front(), std::strerror(errno)));
  if (child == 0) become_program(std::move(arguments), output.get());
  const auto end = std::chrono::steady_clock::now() + deadline;
  ProgramResult result{ended_by(child, end), beginning_of(log)};
  if (result.ended && result.ended->signal == 0 && result.ended->code == kNotStarted)
    throw machine_error(fmt::format("{} cannot be started", command.front()));
  return result;
}

}  // namespace evo::cli
