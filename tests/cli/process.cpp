#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>

extern char** environ;

namespace evo::testing {
namespace {

using Clock = std::chrono::steady_clock;

/// Variables that change what evo does, wherever the tests are run.
constexpr std::array kUnset = {"EVO_TEMPLATES", "EVO_NVRTC", "EVO_LOG", "NO_COLOR", "TERM"};

std::vector<std::string> environment_of(const ProcessOptions& options) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    variables[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  for (const char* name : kUnset) variables.erase(name);
  variables["CUDA_VISIBLE_DEVICES"] = "";
  variables["EVO_CHECK_TIME"] = "0";
  variables["PWD"] = options.folder;  // As a shell does: it tells whose workers those are that work elsewhere.
  // Tests of tasks write them there.
  if (std::filesystem::exists(options.folder / "templates")) variables["EVO_TEMPLATES"] = "templates";
  for (const auto& [name, value] : options.environment) variables[name] = value;
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct Ends {
  int reading = -1;
  int writing = -1;
};

Ends make_pipe() {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  return {ends[0], ends[1]};
}

Ends make_terminal() {
  const int controller = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(controller >= 0);
  REQUIRE(grantpt(controller) == 0);
  REQUIRE(unlockpt(controller) == 0);
  std::array<char, 256> name{};
  REQUIRE(ptsname_r(controller, name.data(), name.size()) == 0);
  const int terminal = open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(terminal >= 0);
  winsize size{};
  size.ws_col = 100;
  size.ws_row = 25;
  REQUIRE(ioctl(terminal, TIOCSWINSZ, &size) == 0);
  return {controller, terminal};
}

/// Appends what is there; closes and resets the descriptor at its end. A terminal whose other side is closed
/// gives EIO.
void drain(int& descriptor, std::string& text) {
  std::array<char, 4096> buffer{};
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  if (count > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  } else if (count == 0 || errno != EINTR) {
    close(descriptor);
    descriptor = -1;
  }
}

}  // namespace

EvoProcess::EvoProcess(const std::vector<std::string>& arguments, const ProcessOptions& options)
    : end_(Clock::now() + options.deadline) {
  std::vector<std::string> words = {EVO_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_of(options);
  const Ends out = make_pipe();
  const Ends err = options.terminal ? make_terminal() : make_pipe();

  posix_spawn_file_actions_t actions;
  REQUIRE(posix_spawn_file_actions_init(&actions) == 0);
  posix_spawn_file_actions_addchdir_np(&actions, options.folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (options.output.empty()) {
    posix_spawn_file_actions_adddup2(&actions, out.writing, STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, options.output.c_str(), O_WRONLY, 0);
  }
  if (options.errors.empty()) {
    posix_spawn_file_actions_adddup2(&actions, err.writing, STDERR_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, options.errors.c_str(), O_WRONLY, 0);
  }
  for (const int stream : options.closed) posix_spawn_file_actions_addclose(&actions, stream);
  posix_spawnattr_t attributes;
  REQUIRE(posix_spawnattr_init(&attributes) == 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int error =
      posix_spawn(&pid_, EVO_BINARY, &actions, &attributes, pointers_to(words).data(), pointers_to(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(out.writing);
  close(err.writing);
  out_ = out.reading;
  err_ = err.reading;
  INFO(EVO_BINARY << ": " << std::strerror(error));
  REQUIRE(error == 0);
}

EvoProcess::~EvoProcess() {
  kill_now();
  if (out_ >= 0) close(out_);
  if (err_ >= 0) close(err_);
}

void EvoProcess::kill_now() {
  if (pid_ < 0) return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

bool EvoProcess::read_some(std::chrono::milliseconds patience) {
  if (out_ < 0 && err_ < 0) return false;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
  std::array<pollfd, 2> polled = {pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
  const int ready =
      left.count() > 0 ? poll(polled.data(), polled.size(), static_cast<int>(std::min(left, patience).count())) : 0;
  if (ready == 0) {
    if (patience < left) return true;
    kill_now();
    FAIL("evo did not end in time; it said:\n" << outcome_.out << outcome_.err);
  }
  if (polled[0].revents != 0) drain(out_, outcome_.out);
  if (polled[1].revents != 0) drain(err_, outcome_.err);
  return true;
}

void EvoProcess::wait_for_error_text(const std::string& text) {
  while (outcome_.err.find(text) == std::string::npos) {
    if (!read_some()) FAIL("evo ended without saying '" << text << "'; it said:\n" << outcome_.out << outcome_.err);
  }
}

void EvoProcess::wait_until(const std::function<bool()>& holds) {
  while (!holds()) {
    if (!read_some(std::chrono::milliseconds(50)))
      FAIL("evo ended before that came; it said:\n" << outcome_.out << outcome_.err);
  }
}

std::string EvoProcess::wait_for_line(const std::string& text) {
  while (true) {
    for (const std::string& stream : {outcome_.out, outcome_.err}) {
      const std::size_t at = stream.find(text), end = stream.find('\n', at);
      if (at == std::string::npos || end == std::string::npos) continue;
      const std::size_t begin = stream.rfind('\n', at) + 1;  // npos + 1 is 0.
      return stream.substr(begin, end - begin);
    }
    if (!read_some()) FAIL("evo ended without saying '" << text << "'; it said:\n" << outcome_.out << outcome_.err);
  }
}

void EvoProcess::send(int signal) const {
  REQUIRE(kill(-pid_, signal) == 0);
}

Outcome EvoProcess::finish() {
  while (read_some()) {
  }
  int status = 0;
  REQUIRE(waitpid(pid_, &status, 0) == pid_);
  pid_ = -1;
  if (WIFEXITED(status)) outcome_.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome_.signal = WTERMSIG(status);
  Outcome outcome = outcome_;
  outcome.shown = std::make_shared<Catch::ScopedMessage>(
      Catch::MessageBuilder("INFO", CATCH_INTERNAL_LINEINFO, Catch::ResultWas::Info) << outcome.out << outcome.err);
  return outcome;
}

Outcome run_evo(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  return EvoProcess(arguments, options).finish();
}

}  // namespace evo::testing
