#include "evaluator/hosts/helping_server.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "engine/base/text.h"
#include "evaluator/base/cores.h"
#include "evaluator/base/job_queue.h"
#include "evaluator/base/log.h"
#include "evaluator/hosts/binary_cache.h"
#include "evaluator/hosts/model_workers.h"
#include "evaluator/worker/channel.h"
#include "evaluator/worker/process.h"
#include "evaluator/worker/protocol.h"

namespace evo {
namespace {

constexpr const char* kModelsRole = "models";
constexpr const char* kCompilesRole = "compiles";

class HelpingServer {
 public:
  explicit HelpingServer(PipelineOptions options)
      : options_(std::move(options)),
        requests_in_(UniqueFd(::fcntl(kWorkerSocket, F_DUPFD_CLOEXEC, 10)), UniqueFd(), nullptr),
        replies_out_(UniqueFd(::fcntl(kWorkerSocket, F_DUPFD_CLOEXEC, 10)), UniqueFd(), nullptr) {
    ::fcntl(kWorkerSocket, F_SETFD, FD_CLOEXEC);
  }

  /// Returns the exit code.
  int serve() {
    const int lanes = usable_cores();
    try {
      ModelWorkers tried(options_, stop_);
      reply(0, protocol::Ready{tried.open(), static_cast<std::uint32_t>(lanes)});
    } catch (const std::exception& error) {
      reply(0, protocol::Broken{error.what()});
      return 3;
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < lanes; ++i) threads.emplace_back([this] { work(); });
    const int code = take_requests();
    stop_.raise();
    requests_.close();
    for (std::thread& thread : threads) thread.join();
    return code;
  }

 private:
  int take_requests() {
    protocol::Frame frame;
    try {
      while (requests_in_.receive(frame, std::nullopt, 0) == TransferEnd::complete) {
        protocol::RequestMessage message = protocol::decode_request(frame);
        const bool models = std::holds_alternative<protocol::Model>(message.request) && !options_.device.id.empty();
        if (!models && !std::holds_alternative<protocol::Compile>(message.request))
          throw protocol::ProtocolError("a worker that helps only compiles, and models where it has a virtual GPU");
        requests_.push(std::move(message));
      }
      return 0;
    } catch (const protocol::ProtocolError& error) {
      reply(0, protocol::Broken{error.what()});
      return 3;
    }
  }

  void work() {
    yield_cores();  // To workers of this host's devices.
    // Worker processes belong to the thread that started them: they would die with another one.
    ModelWorkers workers(options_, stop_);
    while (std::optional<protocol::RequestMessage> message = requests_.next()) {
      reply(message->id, protocol::Started{});
      try {
        reply(message->id, answer(workers, message->request));
      } catch (const Stopped&) {
        return;
      } catch (const std::exception& error) {
        reply(message->id, protocol::Broken{error.what()});
      }
    }
  }

  static protocol::Reply answer(ModelWorkers& workers, const protocol::Request& request) {
    if (const auto* compile = std::get_if<protocol::Compile>(&request)) {
      auto built = workers.compile(*compile);
      if (auto* binary = std::get_if<Binary>(&built)) return protocol::Compiled{std::move(*binary)};
      return protocol::Failed{std::move(std::get<Failure>(built))};
    }
    auto answer = workers.model(std::get<protocol::Model>(request));
    if (auto* modelled = std::get_if<protocol::Modelled>(&answer)) return std::move(*modelled);
    return protocol::Failed{std::move(std::get<Failure>(answer))};
  }

  /// Where nobody hears it, the end of the requests ends the server.
  void reply(std::uint64_t id, protocol::Reply reply) {
    const protocol::Frame frame = protocol::encode(protocol::ReplyMessage{id, std::move(reply)});
    const std::lock_guard lock(mutex_);
    replies_out_.send(frame, std::nullopt);
  }

  PipelineOptions options_;
  StopSignal stop_;
  Channel requests_in_;
  std::mutex mutex_;  ///< Of what follows.
  Channel replies_out_;
  JobQueue<protocol::RequestMessage> requests_;
};

}  // namespace

std::vector<std::string> models_role(const PipelineOptions& options) {
  return {kModelsRole, options.device.kind, fmt::format("{:g}", options.compile_deadline_s),
          fmt::format("{:g}", options.run_deadline_s), options.device.id};
}

std::vector<std::string> compiles_role(const PipelineOptions& options) {
  return {kCompilesRole, options.device.kind, fmt::format("{:g}", options.compile_deadline_s)};
}

bool is_helping_role(const std::vector<std::string>& arguments) {
  return !arguments.empty() && (arguments[0] == kModelsRole || arguments[0] == kCompilesRole);
}

int serve_helping(std::vector<std::string> arguments, const std::vector<std::string>& worker_command) {
  take_log_argument(arguments);
  become_worker();
  const bool models = arguments[0] == kModelsRole;
  if (arguments.size() != (models ? 5U : 3U)) return 2;
  PipelineOptions options;
  options.device.kind = arguments[1];
  const auto compile_s = number_in<double>(arguments[2]);
  const std::optional<double> run_s = models ? number_in<double>(arguments[3]) : std::optional(0.0);
  if (!compile_s || !run_s) return 2;
  if (models) options.device.id = arguments[4];
  options.compile_deadline_s = *compile_s;
  options.run_deadline_s = *run_s;
  options.worker_command = worker_command;
  options.binaries = std::make_shared<BinaryCache>();
  return HelpingServer(std::move(options)).serve();
}

}  // namespace evo
