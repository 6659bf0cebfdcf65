#include "evaluator/worker/worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/log.h"
#include "evaluator/base/stopwatch.h"
#include "evaluator/compile/nvrtc.h"
#include "evaluator/compile/toolkit_headers.h"
#include "evaluator/worker/channel.h"
#include "evaluator/worker/device_server.h"
#include "evaluator/worker/process.h"
#include "evaluator/worker/protocol.h"
#include "evaluator/worker/remote_link.h"
#include "evaluator/worker/rights.h"

namespace evo {
namespace {

constexpr int kExitDone = 0;
constexpr int kExitUsage = 2;
constexpr int kExitBroken = 3;
/// What takes so long is in the log.
constexpr double kSlowPreparationSeconds = 2;

/// One role of a worker: answers the requests that belong to it.
class Role {
 public:
  virtual ~Role() = default;
  virtual std::string what() const = 0;
  /// What takes long and is not the candidate's doing.
  virtual void prepare(protocol::Request&) {}
  /// Whether that would take no time.
  virtual bool is_prepared(const protocol::Request&) const { return false; }
  virtual protocol::Reply answer(const protocol::Request& request) = 0;
  /// What an answer brought, after it was sent.
  virtual void take_back(std::vector<std::byte>) {}
};

class CompileRole final : public Role {
 public:
  explicit CompileRole(std::unique_ptr<Compiler> compiler) : compiler_(std::move(compiler)) {}
  std::string what() const override { return "NVRTC " + compiler_->version(); }

  protocol::Reply answer(const protocol::Request& request) override {
    const auto* compile = std::get_if<protocol::Compile>(&request);
    if (compile == nullptr) throw protocol::ProtocolError("a compile worker only compiles");
    auto result = compiler_->compile(*compile);
    if (auto* binary = std::get_if<Binary>(&result)) return protocol::Compiled{std::move(*binary)};
    return protocol::Failed{std::move(std::get<Failure>(result))};
  }

 private:
  std::unique_ptr<Compiler> compiler_;
};

class DeviceRole final : public Role {
 public:
  explicit DeviceRole(std::unique_ptr<Device> device) : device_(std::move(device)), server_(*device_) {}
  std::string what() const override { return device_->info().id; }

  void prepare(protocol::Request& request) override {
    if (auto* run = std::get_if<protocol::Run>(&request)) {
      find_recipe(*run);
      server_.draw(*run->recipe);
    }
    if (const auto* keep = std::get_if<protocol::KeepAnswer>(&request)) server_.draw(keep->recipe);
    if (const auto* time = std::get_if<protocol::Time>(&request)) {
      for (const CaseRecipe& recipe : time->rotation) server_.draw(recipe);
      if (time->afterwards) server_.draw(*time->afterwards);
    }
  }
  bool is_prepared(const protocol::Request& request) const override {
    const auto* run = std::get_if<protocol::Run>(&request);
    if (run == nullptr || run->recipe) return false;
    const auto found = recipes_.find(run->case_name);
    return found != recipes_.end() && server_.has_drawn(found->second);
  }
  protocol::Reply answer(const protocol::Request& request) override {
    return std::visit([this](const auto& typed) { return answer_one(typed); }, request);
  }
  void take_back(std::vector<std::byte> payload) override { server_.take_back(std::move(payload)); }

 private:
  void find_recipe(protocol::Run& run) {
    if (run.recipe) {
      if (!run.case_name.empty()) recipes_.insert_or_assign(run.case_name, *run.recipe);
      return;
    }
    const auto found = recipes_.find(run.case_name);
    if (found == recipes_.end()) throw protocol::ProtocolError("a case whose recipe was never sent");
    run.recipe = found->second;
  }

  protocol::Reply answer_one(const protocol::Load& request) { return server_.load(request); }
  protocol::Reply answer_one(const protocol::Unload& request) { return server_.unload(request); }
  protocol::Reply answer_one(const protocol::Run& request) { return server_.run(request); }
  protocol::Reply answer_one(const protocol::Time& request) { return server_.time(request); }
  protocol::Reply answer_one(const protocol::ReadCounters& request) { return server_.read_counters(request); }
  protocol::Reply answer_one(const protocol::KeepAnswer& request) { return server_.keep_answer(request); }
  protocol::Reply answer_one(const protocol::Compile&) { return refuse(); }
  protocol::Reply answer_one(const protocol::Model&) { return refuse(); }
  static protocol::Reply refuse() { throw protocol::ProtocolError("a device worker compiles nothing"); }

  std::unique_ptr<Device> device_;
  DeviceServer server_;
  std::map<std::string, CaseRecipe> recipes_;  ///< By the names that the parent gave them.
};

bool reads_anywhere(const std::vector<std::string>& arguments) {
  return arguments.size() == 3 && arguments[0] == "compile" && arguments[2] == kReadsAnywhere;
}

/// Null for unknown arguments.
std::unique_ptr<Role> open_role(const std::vector<std::string>& arguments, const WorkerTools& tools) {
  if ((arguments.size() == 2 || reads_anywhere(arguments)) && arguments[0] == "compile")
    return std::make_unique<CompileRole>(tools.open_compiler(arguments[1]));
  if ((arguments.size() == 2 || arguments.size() == 3) && arguments[0] == "device") {
    const auto threads = arguments.size() == 3 ? number_in<int>(arguments[2]) : 1;
    return threads && *threads > 0 ? std::make_unique<DeviceRole>(tools.open_device(arguments[1], *threads)) : nullptr;
  }
  return nullptr;
}

/// Only a worker with a device outside of this machine's CPU needs a driver.
WorkerKind kind_of(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || arguments[0] != "device") return WorkerKind::host_only;
  const DeviceKind* kind = find_kind(arguments[1].substr(0, arguments[1].find(':')));
  return kind != nullptr && !kind->on_host ? WorkerKind::gpu : WorkerKind::host_only;
}

/// What a compiler reads beside its sources, and libraries do while they run.
std::vector<std::filesystem::path> readable_folders() {
  std::vector<std::filesystem::path> folders = {
      "/usr/lib",         "/usr/lib64",          "/usr/local/lib", "/lib",         "/lib64",
      "/etc/ld.so.cache", "/proc/self",          "/proc/cpuinfo",  "/proc/stat",   "/sys/devices/system",
      "/proc/meminfo",    "/usr/share/zoneinfo", "/dev/null",      "/dev/urandom", "/etc/localtime"};
  try {
    const NvrtcEnvironment environment = NvrtcEnvironment::of_process();
    const std::filesystem::path library = load_nvrtc(environment).path;
    std::error_code error;
    for (const std::filesystem::path& one : {library, std::filesystem::canonical(library, error)})
      if (one.has_parent_path()) folders.push_back(one.parent_path());
    for (const std::filesystem::path& folder : toolkit_include_folders(environment, library.string()))
      folders.push_back(folder);
  } catch (const Error&) {
    // Without a compiler nothing of it is read.
  }
  return folders;
}

bool send(Channel& channel, std::uint64_t id, protocol::Reply reply) {
  return channel.send(protocol::encode(protocol::ReplyMessage{id, std::move(reply)}), std::nullopt) ==
         TransferEnd::complete;
}

/// What `work` returns; what it throws is the machine's fault.
template <typename Work>
std::optional<protocol::Reply> reply_of(const Work& work) {
  try {
    return work();
  } catch (const protocol::ProtocolError&) {
    throw;
  } catch (const std::exception& error) {
    return protocol::Broken{error.what()};
  }
}

/// One request after the other. Before it is worked on the parent is told that it has begun: what happens from then on
/// is the candidate's doing.
class Service {
 public:
  Service(Channel& channel, Role& role) : channel_(channel), role_(role) {}

  int run() {
    while (begin_next()) {
      auto reply = hindrance_ ? std::exchange(hindrance_, std::nullopt)
                              : reply_of([&] { return std::optional(role_.answer(request_->request)); });
      if (!answer(*std::move(reply))) break;
    }
    return kExitDone;
  }

 private:
  /// False: the parent has gone.
  bool begin_next() {
    if (begun_) return true;
    if (!request_ && !receive()) return false;
    Stopwatch watch;
    hindrance_ = reply_of([&]() -> std::optional<protocol::Reply> {
      role_.prepare(request_->request);
      return std::nullopt;
    });
    if (const double took_s = watch.lap_s(); took_s >= kSlowPreparationSeconds) {
      log_line(LogLevel::info, [&] {
        return fmt::format("the inputs of {} took {:.3f} s, which is slow", protocol::name_of(request_->request),
                           took_s);
      });
    }
    begun_ = send(channel_, request_->id, protocol::Started{});
    return begun_;
  }

  /// A request that waits and is prepared begins with the same message: each wakes the parent.
  bool answer(protocol::Reply reply) {
    std::vector<protocol::Frame> frames;
    frames.push_back(protocol::encode(protocol::ReplyMessage{request_->id, std::move(reply)}));
    request_.reset();
    begun_ = false;
    if (channel_.has_frame(protocol::kMaxProgramBytes)) {
      if (!receive()) return false;
      if (role_.is_prepared(request_->request)) {
        role_.prepare(request_->request);
        frames.push_back(protocol::encode(protocol::ReplyMessage{request_->id, protocol::Started{}}));
        begun_ = true;
      }
    }
    if (channel_.send(frames, std::nullopt) != TransferEnd::complete) return false;
    role_.take_back(std::move(frames.front().payload));
    return true;
  }

  bool receive() {
    protocol::Frame frame;
    if (channel_.receive(frame, std::nullopt, protocol::kMaxProgramBytes) != TransferEnd::complete) return false;
    request_ = protocol::decode_request(frame);
    return true;
  }

  Channel& channel_;
  Role& role_;
  std::optional<protocol::RequestMessage> request_;  ///< Received, not answered.
  bool begun_ = false;                               ///< The parent was told so.
  std::optional<protocol::Reply> hindrance_;         ///< Why it cannot be worked on.
};

}  // namespace

int serve_worker(std::vector<std::string> arguments, const WorkerTools& tools) {
  if (is_link_end(arguments)) return serve_link_end(arguments);
  take_log_argument(arguments);
  become_worker();
  const WorkerKind kind = tools.touch_files ? WorkerKind::gpu : kind_of(arguments);
  reduce_rights(kind);
  Channel channel(UniqueFd(kWorkerSocket), UniqueFd(), nullptr);
  std::unique_ptr<Role> role;
  try {
    role = open_role(arguments, tools);
  } catch (const std::exception& error) {
    send(channel, 0, protocol::Broken{error.what()});
    return kExitBroken;
  }
  if (!role) return kExitUsage;
  if (kind == WorkerKind::host_only && !reads_anywhere(arguments)) {
    // NVRTC writes the working folder's name into PTX, where a quote in it ends a text.
    if (::chdir("/") != 0) return kExitBroken;
    confine_reading(readable_folders());
  }
  try {
    send(channel, 0, protocol::Ready{role->what()});
    return Service(channel, *role).run();
  } catch (const protocol::ProtocolError& error) {
    send(channel, 0, protocol::Broken{error.what()});
    return kExitBroken;
  }
}

}  // namespace evo
