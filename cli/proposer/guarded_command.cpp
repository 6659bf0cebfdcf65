#include "cli/proposer/guarded_command.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "cli/text/exit_code.h"
#include "evaluator/worker/process.h"

namespace evo::cli {
namespace {

// Kills the whole process group, the guard included.
void end_group(int) {
  ::kill(0, SIGKILL);
}

// False when the socket is closed or missing: then no evo has started this guard.
bool has_parent() {
  char byte = 0;
  const ssize_t seen = ::recv(kWorkerSocket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return seen > 0 || (seen < 0 && errno == EAGAIN);
}

constexpr const char* kOfEvo = "evo";  // what follows are arguments of this program, not a command

[[noreturn]] void become_command(const std::vector<std::string>& command) {
  ::dup2(kWorkerSocket, STDIN_FILENO);
  ::dup2(kWorkerSocket, STDOUT_FILENO);
  ::close(kWorkerSocket);
  if (command.size() == 1) ::execl("/bin/sh", "sh", "-c", command.front().c_str(), nullptr);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execv("/proc/self/exe", arguments.data());
  ::_exit(kMachine);
}

}  // namespace

std::vector<std::string> guarded_command(const std::string& command) {
  return {"/proc/self/exe", kGuard, command};
}

std::vector<std::string> guarded_evo(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"/proc/self/exe", kGuard, kOfEvo};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

int guard(const std::vector<std::string>& command) {
  // The kernel signals the end of a parent only to a child that asks for it, not to grandchildren.
  ::signal(SIGTERM, end_group);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (!has_parent()) return kWrongUsage;
  const pid_t child = ::fork();
  if (child < 0) return kMachine;
  if (child == 0) become_command(command);
  ::close(kWorkerSocket);  // so that the other end is closed when the command ends
  while (true) ::pause();
}

}  // namespace evo::cli
