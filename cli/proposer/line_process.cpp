#include "cli/proposer/line_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>

namespace evo::cli {
void LineProcess::start() {
  SocketPair sockets = make_socket_pair();
  process_ = std::make_unique<Process>(options_.command, sockets.theirs.get(), options_.errors, options_.environment);
  socket_ = std::move(sockets.ours);
  received_.clear();
}

void LineProcess::stop() noexcept {
  if (process_) ::kill(-process_->pid(), SIGKILL);  // with the shell's children
  process_.reset();
  socket_.reset();
}

void LineProcess::wait_a_little(short events) const {
  if (options_.ends && options_.ends()) throw LineInterrupted();
  pollfd ready{socket_.get(), events, 0};
  ::poll(&ready, 1, 100);
}

void LineProcess::send(const std::string& line) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(options_.deadline_s);
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t written = ::send(socket_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written > 0) {
      sent += static_cast<std::size_t>(written);
    } else if (errno != EAGAIN && errno != EINTR) {
      throw LineFailure("it has ended");
    } else if (std::chrono::steady_clock::now() >= until) {
      throw LineTimeout(fmt::format("it did not read for {} s", options_.deadline_s));
    } else {
      wait_a_little(POLLOUT);
    }
  }
}

std::string LineProcess::receive() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(options_.deadline_s);
  while (true) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (received_.size() > options_.longest_line)
      throw LineFailure(fmt::format("its answer is longer than {} MiB", options_.longest_line >> 20));
    if (std::chrono::steady_clock::now() >= until)
      throw LineTimeout(fmt::format("no answer within {} s", options_.deadline_s));
    wait_a_little(POLLIN);
    char buffer[1 << 14];
    const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0) {
      received_.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      throw LineFailure("it has ended");
    }
  }
}

}  // namespace evo::cli
