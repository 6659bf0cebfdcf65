#include "evaluator/judge/torch_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/json_depth.h"
#include "engine/device/device_kind.h"
#include "evaluator/worker/process.h"
#include "evaluator/worker/worker_client.h"

namespace evo::embedded {
extern const std::string_view torch_reference_runner;
}

namespace evo {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Message = nlohmann::ordered_json;

constexpr auto kStartPatience = std::chrono::minutes(5);  ///< Until torch is there.
constexpr double kPatience = 10;                          ///< Times the deadline of a candidate's run.
constexpr std::size_t kMostAnswerBytes = 1 << 16;         ///< Of a line; outputs travel as files.

}  // namespace

std::string python_name() {
  const char* named = std::getenv("EVO_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

struct TorchProcess::Impl {
  const std::string file;
  const StopSignal* stop;
  double patience_s;
  fs::path folder;
  UniqueFd errors, socket;
  std::optional<Process> process;
  std::string received;

  Impl(std::string of, const StopSignal* signal, double run_deadline_s)
      : file(std::move(of)),
        stop(signal),
        patience_s(kPatience * (run_deadline_s > 0 ? run_deadline_s : DeviceKind{}.run_deadline_s)) {
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

  /// Throws machine_error where torch is missing, usage_error for another fault.
  void require(const TorchAnswer& answer, const std::string& where) const {
    if (!answer.missing.empty())
      throw machine_error(fmt::format("{} needs torch, and {} has none ({}): EVO_PYTHON names another python", file,
                                      python_name(), answer.missing));
    if (!answer.error.empty()) throw usage_error(fmt::format("{}: {}{}", file, where, answer.error));
  }

  Clock::time_point deadline() const {
    return Clock::now() + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(patience_s));
  }

  /// Waits for the socket, a tenth of a second at most. Throws once the answer is late.
  void wait_for(short events, Clock::time_point end) {
    if (stop != nullptr && stop->raised()) throw Stopped();
    if (Clock::now() >= end) {
      process.reset();  // The next case gets another one.
      throw usage_error(fmt::format("{}: no answer within {:g} s", file, patience_s));
    }
    pollfd ready{socket.get(), events, 0};
    ::poll(&ready, 1, 100);
  }

  void send(const std::string& line, Clock::time_point end) {
    for (std::size_t sent = 0; sent < line.size();) {
      const ssize_t written = ::send(socket.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (written > 0) {
        sent += static_cast<std::size_t>(written);
      } else if (errno != EINTR && errno != EAGAIN) {
        lost();
      } else {
        wait_for(POLLOUT, end);
      }
    }
  }

  TorchAnswer receive(Clock::time_point end) {
    while (true) {
      if (const std::size_t cut = received.find('\n'); cut != std::string::npos) {
        const std::optional<TorchAnswer> answer = read_torch_answer(received.substr(0, cut));
        received.erase(0, cut + 1);
        if (!answer) lost();
        return *answer;
      }
      if (received.size() > kMostAnswerBytes)
        throw usage_error(fmt::format("{}: an answer of more than {} bytes", file, kMostAnswerBytes));
      wait_for(POLLIN, end);
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

std::optional<TorchAnswer> read_torch_answer(const std::string& line) {
  try {
    require_shallow_json(line, "an answer");
    const Message message = Message::parse(line);
    return TorchAnswer{message.value("missing", ""), message.value("error", "")};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

TorchProcess::TorchProcess(const std::string& file, const std::string& source, const StopSignal* stop,
                           double run_deadline_s)
    : impl_(std::make_unique<Impl>(file, stop, run_deadline_s)) {
  impl_->require(impl_->receive(Clock::now() + kStartPatience), "");
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

std::string TorchProcess::get(const std::string& tensor, std::uint64_t bytes, const std::string& where) const {
  const fs::path path = path_of(tensor);
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error)) || fs::file_size(path, error) != bytes)
    throw usage_error(fmt::format("{}: {}tensor {} is no file of {} bytes", impl_->file, where, tensor, bytes));
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void TorchProcess::ask(const std::string& message, const std::string& where) {
  const Clock::time_point end = impl_->deadline();
  impl_->send(message + "\n", end);
  impl_->require(impl_->receive(end), where);
}

}  // namespace evo
