#include "evaluator/judge/torch_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "engine/base/error.h"
#include "evaluator/worker/process.h"
#include "evaluator/worker/worker_client.h"

namespace evo::embedded {
extern const std::string_view torch_reference_runner;
}

namespace evo {
namespace {

namespace fs = std::filesystem;
using Message = nlohmann::ordered_json;

}  // namespace

std::string python_name() {
  const char* named = std::getenv("EVO_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

struct TorchProcess::Impl {
  const std::string file;
  const StopSignal* stop;
  fs::path folder;
  UniqueFd errors, socket;
  std::optional<Process> process;
  std::string received;

  Impl(std::string of, const StopSignal* signal) : file(std::move(of)), stop(signal) {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "evo-reference-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr)
      throw machine_error("no folder can be made for the inputs of a reference: name one with TMPDIR");
    folder = path;
    errors = UniqueFd(::open((folder / "errors").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    SocketPair sockets = make_socket_pair();
    const std::vector<std::string> command = {"/usr/bin/env", python_name(), "-c",
                                              std::string(embedded::torch_reference_runner)};
    process.emplace(command, sockets.theirs.get(), errors.get());
    socket = std::move(sockets.ours);
  }
  ~Impl() {
    process.reset();
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[noreturn]] void lost() const {
    std::ifstream written(folder / "errors");
    const std::string said(std::istreambuf_iterator<char>(written), {});
    throw machine_error(fmt::format("{}: {} has ended{}", file, python_name(),
                                    said.empty() ? "" : fmt::format(" ({})", last_line(said))));
  }

  void send(const std::string& line) {
    for (std::size_t sent = 0; sent < line.size();) {
      const ssize_t written = ::send(socket.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
      if (written > 0) {
        sent += static_cast<std::size_t>(written);
      } else if (errno != EINTR) {
        lost();
      }
    }
  }

  Message receive() {
    while (true) {
      if (const std::size_t end = received.find('\n'); end != std::string::npos) {
        Message message = Message::parse(received.substr(0, end), nullptr, false);
        received.erase(0, end + 1);
        if (!message.is_object()) lost();
        return message;
      }
      if (stop != nullptr && stop->raised()) throw Stopped();
      pollfd ready{socket.get(), POLLIN, 0};
      ::poll(&ready, 1, 100);
      char buffer[1 << 12];
      const ssize_t count = ::recv(socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (count > 0) {
        received.append(buffer, static_cast<std::size_t>(count));
      } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        lost();
      }
    }
  }
};

TorchProcess::TorchProcess(const std::string& file, const std::string& source, const StopSignal* stop)
    : impl_(std::make_unique<Impl>(file, stop)) {
  const Message greeting = impl_->receive();
  if (greeting.contains("missing")) {
    throw machine_error(fmt::format("{} needs torch, and {} has none ({}): EVO_PYTHON names another python", file,
                                    python_name(), greeting["missing"].get<std::string>()));
  }
  const Message message = {{"source", source}, {"file", file}};
  ask(message.dump(-1, ' ', false, Message::error_handler_t::replace), "");
}

TorchProcess::~TorchProcess() = default;

bool TorchProcess::has_ended() const {
  char byte = 0;
  return ::recv(impl_->socket.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

std::string TorchProcess::path_of(const std::string& tensor) const {
  return (impl_->folder / tensor).string();
}

void TorchProcess::put(const std::string& tensor, std::span<const std::byte> bytes) const {
  std::ofstream file(path_of(tensor), std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw machine_error(fmt::format("cannot write to {}: is the disk full?", impl_->folder.string()));
}

std::string TorchProcess::get(const std::string& tensor) const {
  std::ifstream file(path_of(tensor), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void TorchProcess::ask(const std::string& message, const std::string& where) {
  impl_->send(message + "\n");
  const Message answer = impl_->receive();
  if (answer.contains("error"))
    throw usage_error(fmt::format("{}: {}{}", impl_->file, where, answer["error"].get<std::string>()));
}

}  // namespace evo
