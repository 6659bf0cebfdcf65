#include "cli/watch/watch_process.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "cli/subject/arguments.h"
#include "cli/text/exit_code.h"
#include "cli/text/signals.h"
#include "cli/text/streams.h"
#include "cli/watch/page_server.h"
#include "cli/watch/run_follower.h"
#include "engine/base/error.h"

namespace evo::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatienceWithWatcher = 6s;
// What the process says first, in one line.
constexpr std::string_view kAddress = "address ", kWrong = "usage ", kFailed = "machine ";

void send_line(int socket, std::string_view text) {
  const std::string line = std::string(text) + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t count = ::send(socket, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // The other end has gone, which its owner sees elsewhere.
    sent += static_cast<std::size_t>(count);
  }
}

/// Empty when the other end was closed first.
std::string receive_line(int socket) {
  std::string line;
  char byte = 0;
  while (true) {
    const ssize_t count = ::recv(socket, &byte, 1, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return "";
    if (byte == '\n') return line;
    line += byte;
  }
}

bool is_closed(int socket) {
  char byte = 0;
  const ssize_t count = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

std::string rest_of(const std::string& line, std::string_view beginning) {
  return line.substr(beginning.size());
}

}  // namespace

WatchProcess::WatchProcess(const std::string& database, const std::string& port) {
  parse_port("--watch", port);
  SocketPair ends = make_socket_pair();
  process_ = std::make_unique<Process>(std::vector<std::string>{"/proc/self/exe", kWatchRun, database, port},
                                       ends.theirs.get(), STDERR_FILENO);
  ends.theirs.reset();
  line_ = std::move(ends.ours);
  const std::string said = receive_line(line_.get());
  if (said.starts_with(kWrong)) throw usage_error(rest_of(said, kWrong));
  if (said.starts_with(kFailed)) throw machine_error(rest_of(said, kFailed));
  if (!said.starts_with(kAddress)) throw machine_error("--watch: the process that serves the page did not start");
  address_ = rest_of(said, kAddress);
}

WatchProcess::~WatchProcess() {
  line_.reset();
  process_->wait(kPatienceWithWatcher);  // Else it is killed.
}

void WatchProcess::show(RunId run) {
  send_line(line_.get(), std::to_string(run));
}

std::uint16_t parse_port(const std::string& option, const std::string& text) {
  return text.empty() ? 0 : static_cast<std::uint16_t>(parse_number(option, text, 0, 65535));
}

int watch_run(const std::string& database, const std::string& port) {
  ignore_interrupts();  // The run ends it.
  try {
    PageServer server(parse_port("--watch", port));
    send_line(kWorkerSocket, std::string(kAddress) + server.address());
    const std::string run = receive_line(kWorkerSocket);
    if (run.empty()) return kDone;
    try {
      const Store store = Store::open(database, Store::Mode::read);
      const RunChoice choice{.runs = {run}};
      RunFollower(store, choice, server).follow([] { return is_closed(kWorkerSocket); });
    } catch (const Error& error) {
      write_to_stderr(fmt::format("evo: --watch: {}\n", error.what()));
    }
    std::_Exit(kDone);  // Without waiting for viewers that hang.
  } catch (const Error& error) {
    send_line(kWorkerSocket, std::string(error.fault() == Fault::usage ? kWrong : kFailed) + error.what());
  }
  return kMachine;
}

}  // namespace evo::cli
