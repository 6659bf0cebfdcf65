#include "cli/mcp/tool_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "cli/proposer/guarded_command.h"
#include "engine/base/error.h"
#include "evaluator/worker/process.h"

namespace evo::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = 64 << 20;         // of its output
constexpr std::chrono::seconds kPatienceOfEnd{30};   // for a command that was asked to end
constexpr std::size_t kLongestErrorLine = 64 << 10;  // later bytes are dropped

/// Reads what is there. False at the end of the stream.
bool read_into(int fd, std::string& text) {
  char buffer[1 << 16];
  const ssize_t count = ::read(fd, buffer, sizeof buffer);
  if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

/// Takes whole lines off the text.
void tell_lines(std::string& text, std::string& last, const std::function<void(const std::string&)>& told) {
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
    const std::string line = text.substr(0, end);
    text.erase(0, end + 1);
    if (line.empty()) continue;
    last = line;
    told(line);
  }
  if (text.size() > kLongestErrorLine) text.resize(kLongestErrorLine);
}

}  // namespace

ToolOutput run_tool(const std::vector<std::string>& arguments, const std::function<void(const std::string&)>& told,
                    const std::function<bool()>& cancelled) {
  SocketPair sockets = make_socket_pair();
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) throw machine_error("no descriptors are left for a pipe");
  UniqueFd errors(pipe[0]), errors_end(pipe[1]);
  Process process(guarded_evo(arguments), sockets.theirs.get(), errors_end.get());
  sockets.theirs.reset();
  errors_end.reset();
  ToolOutput output;
  std::string error_text;
  Clock::time_point kill_at = Clock::time_point::max();
  bool reads_errors = true;
  for (bool reads_out = true; reads_out;) {
    pollfd ready[2] = {{sockets.ours.get(), POLLIN, 0}, {reads_errors ? errors.get() : -1, POLLIN, 0}};
    ::poll(ready, 2, 100);
    if (ready[0].revents != 0) reads_out = read_into(sockets.ours.get(), output.out);
    if (ready[1].revents != 0) reads_errors = read_into(errors.get(), error_text);
    tell_lines(error_text, output.last_error, told);
    output.too_long = output.out.size() > kMostBytes;
    const bool ends = output.too_long || cancelled();
    if (ends && kill_at == Clock::time_point::max()) {
      ::kill(-process.pid(), SIGINT);
      kill_at = Clock::now() + kPatienceOfEnd;
    }
    if (Clock::now() >= kill_at) break;
  }
  // What it said last; a process of its own may hold the stream longer.
  for (pollfd rest{errors.get(), POLLIN, 0}; reads_errors && ::poll(&rest, 1, 100) > 0;)
    reads_errors = read_into(errors.get(), error_text);
  tell_lines(error_text, output.last_error, told);
  ::kill(-process.pid(), SIGKILL);
  return output;
}

}  // namespace evo::cli
