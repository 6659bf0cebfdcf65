#include "evaluator/judge/torch_reference.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/log.h"
#include "evaluator/worker/channel.h"
#include "evaluator/worker/process.h"

namespace evo::embedded {
extern const std::string_view torch_reference_runner;
}

namespace evo {
namespace {

namespace fs = std::filesystem;
using Message = nlohmann::ordered_json;

/// Times the deadline of a candidate's run: as much as a reference in CUDA has.
constexpr double kPatience = 10;
constexpr auto kStartPatience = std::chrono::minutes(5);  ///< Until torch is there.
constexpr std::size_t kMostAnswerBytes = 1 << 16;         ///< Of a line; outputs travel as files.

std::string python() {
  const char* named = std::getenv("EVO_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

DType type_of_expected(DType dtype) {
  return is_floating(dtype) && dtype != DType::f64 ? DType::f32 : dtype;
}

}  // namespace

struct TorchReference::Impl {
  const PipelineOptions& options;
  const StopSignal* stop;
  fs::path folder;
  UniqueFd errors, socket;
  std::optional<Process> process;
  std::string received;
  double patience_s;  ///< For an answer.

  Impl(const PipelineOptions& of, const StopSignal* signal)
      : options(of),
        stop(signal),
        patience_s(kPatience * (of.run_deadline_s > 0 ? of.run_deadline_s : DeviceKind{}.run_deadline_s)) {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "evo-reference-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr)
      throw machine_error("no folder can be made for the inputs of a reference: name one with TMPDIR");
    folder = path;
    errors = UniqueFd(::open((folder / "errors").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    SocketPair sockets = make_socket_pair();
    const std::vector<std::string> command = {"/usr/bin/env", python(), "-c",
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

  bool has_ended() const {
    char byte = 0;
    return ::recv(socket.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
  }

  /// Loads the task's file.
  void open() {
    const std::string& file = options.task.reference;
    const Message greeting = receive(Clock::now() + kStartPatience);
    if (greeting.contains("missing")) {
      throw machine_error(fmt::format("{} needs torch, and {} has none ({}): EVO_PYTHON names another python", file,
                                      python(), greeting["missing"].get<std::string>()));
    }
    ask({{"source", options.tree.find(file)->second}, {"file", file}}, "");
  }

  [[noreturn]] void lost() const {
    std::ifstream file(folder / "errors");
    const std::string said(std::istreambuf_iterator<char>(file), {});
    throw machine_error(fmt::format("{}: {} has ended{}", options.task.reference, python(),
                                    said.empty() ? "" : fmt::format(" ({})", last_line(said))));
  }

  /// Waits for the socket, a tenth of a second at most. Throws once the answer is late.
  void wait_for(short events, Clock::time_point end) {
    if (stop != nullptr && stop->raised()) throw Stopped();
    if (Clock::now() >= end) {
      process.reset();  // The next case gets another one.
      throw usage_error(fmt::format("{}: no answer within {:g} s", options.task.reference, patience_s));
    }
    pollfd ready{socket.get(), events, 0};
    ::poll(&ready, 1, 100);
  }

  void send(const Message& message, Clock::time_point end) {
    const std::string line = message.dump(-1, ' ', false, Message::error_handler_t::replace) + "\n";
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

  Message receive(Clock::time_point end) {
    while (true) {
      if (const std::size_t cut = received.find('\n'); cut != std::string::npos) {
        Message message = Message::parse(received.substr(0, cut), nullptr, false);
        received.erase(0, cut + 1);
        if (!message.is_object()) lost();
        return message;
      }
      if (received.size() > kMostAnswerBytes)
        throw usage_error(fmt::format("{}: an answer of more than {} bytes", options.task.reference, kMostAnswerBytes));
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

  /// `where`: of the task's fault.
  void ask(const Message& message, const std::string& where) {
    const Clock::time_point end =
        Clock::now() + std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(patience_s));
    send(message, end);
    const Message answer = receive(end);
    if (answer.contains("error"))
      throw usage_error(fmt::format("{}: {}{}", options.task.reference, where, answer["error"].get<std::string>()));
  }

  Message tensor(const std::string& name, DType dtype, const Bindings& known, const std::string& file) const {
    return {{"name", name},
            {"dtype", name_of(dtype)},
            {"dims", dims_of(*options.task.tensor(name), known)},
            {"file", (folder / file).string()}};
  }
};

TorchReference::TorchReference(const PipelineOptions& options, const StopSignal* stop)
    : impl_(std::make_unique<Impl>(options, stop)) {
  impl_->open();
}

TorchReference::~TorchReference() = default;

void TorchReference::start_again() {
  log_line(LogLevel::warning,
           [] { return fmt::format("{}, which computes references: is lost while idle", python()); });
  auto fresh = std::make_unique<Impl>(impl_->options, impl_->stop);
  fresh->open();
  impl_ = std::move(fresh);
}

std::vector<ExpectedOutput> TorchReference::compute(const Case& one) {
  if (impl_->has_ended()) start_again();
  const Task& task = impl_->options.task;
  const Bindings& choices = impl_->options.target.options;
  Bindings known = choices;
  for (const auto& [name, value] : one.shape.parameters) known.insert_or_assign(name, value);
  Message message = {{"inputs", Message::array()}, {"outputs", Message::array()}, {"options", Message::object()}};
  for (const auto& [name, value] : choices)
    std::visit([&](const auto& plain) { message["options"][name] = plain; }, value);
  const std::vector<std::vector<std::byte>> contents = generate_inputs(one.recipe);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const InputRecipe& input = one.recipe.inputs[i];
    if (input.elements == 0) continue;
    message["inputs"].push_back(impl_->tensor(input.name, input.dtype, known, input.name));
    if (!input.strides.empty()) message["inputs"].back()["strides"] = input.strides;
    std::ofstream file(impl_->folder / input.name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(contents[i].data()), static_cast<std::streamsize>(contents[i].size()));
    file.close();
    if (!file) throw machine_error(fmt::format("cannot write to {}: is the disk full?", impl_->folder.string()));
  }
  for (const Tensor& output : task.outputs) {
    if (!is_present(output, choices)) continue;
    const DType dtype = type_of_expected(dtype_of(output, choices));
    message["outputs"].push_back(impl_->tensor(output.name, dtype, known, output.name + ".out"));
  }
  const std::string where = fmt::format("shape {}, regime {}: ", one.shape.name, one.regime.name);
  impl_->ask(message, where);
  std::vector<ExpectedOutput> expected;
  for (const Message& output : message["outputs"]) {
    const DType dtype = parse_dtype(output["dtype"].get<std::string>());
    const fs::path path = output["file"].get<std::string>();
    std::uintmax_t bytes_expected = static_cast<std::uintmax_t>(size_of(dtype));
    for (const Message& dim : output["dims"]) bytes_expected *= dim.get<std::uintmax_t>();
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(path, error)) || fs::file_size(path, error) != bytes_expected) {
      throw usage_error(fmt::format("{}: {}output {} is no file of {} bytes", task.reference, where,
                                    output["name"].get<std::string>(), bytes_expected));
    }
    std::ifstream file(path, std::ios::binary);
    const std::string content(std::istreambuf_iterator<char>(file), {});
    const auto* bytes = reinterpret_cast<const std::byte*>(content.data());
    expected.push_back({dtype, {bytes, bytes + content.size()}});
  }
  return expected;
}

}  // namespace evo
