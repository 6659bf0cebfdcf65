#include "cli/run/remote_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "cli/subject/lookup.h"
#include "cli/text/exit_code.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "evaluator/base/random.h"
#include "evaluator/worker/device_facts.h"
#include "evaluator/worker/prefix_command.h"
#include "evaluator/worker/process.h"
#include "evaluator/worker/remote_link.h"

namespace evo::cli {
namespace {

constexpr double kAnswerSeconds = 60;
constexpr double kCopySeconds = 300;
/// Begins the first line of a hello: a login shell may say something before.
constexpr std::string_view kGreets = "evo-hello ";

std::string this_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

/// What a program behind a prefix has said of itself.
struct Hello {
  bool same = false;  ///< It is this program.
  std::string why_not;
  std::string host;
  std::string complaint;  ///< Why it has no such devices.
  std::vector<DeviceInfo> devices;
};

bool has_line(const CommandResult& result, std::string_view wanted) {
  const std::vector<std::string> lines = split(result.said, '\n');
  return std::ranges::find(lines, wanted) != lines.end();
}

/// The host behind a prefix.
class RemoteHost {
 public:
  /// `stop` may be null.
  RemoteHost(const std::string& prefix, const StopSignal* stop) : prefix_(prefix), stop_(stop) {}

  HostDevices devices(const std::string& list) {
    std::string program = this_program();
    Hello answer = hello(program, list);
    if (!answer.same) {
      const std::string user = user_there(), why_not_found = std::move(answer.why_not);
      try {
        program = folder_there(user) / "evo";
        answer = hello_of_copy(program, list);
      } catch (const Error& error) {
        throw machine_error(fmt::format("evo is not there ({}) and cannot be copied: {}", why_not_found, error.what()));
      }
    }
    for (DeviceInfo& device : answer.devices) {
      device.host = answer.host;
      device.reached_by = prefix_;
      device.program = program;
    }
    return {{answer.host, prefix_, program},
            std::move(answer.devices),
            answer.complaint.empty() ? "it names no device" : answer.complaint};
  }

 private:
  CommandResult run(const std::vector<std::string>& words, const std::string& input = "",
                    double seconds = kAnswerSeconds) const {
    return run_behind(prefix_, words, input, seconds, stop_);
  }

  Hello hello(const std::string& program, const std::string& list) const {
    Hello hello;
    const CommandResult result = run({program, "worker", kHello, list});
    const std::size_t begin = result.said.find(kGreets);
    if (begin == std::string::npos) {
      hello.why_not = result.complaint.empty() ? "it does not say that it is evo" : result.complaint;
      return hello;
    }
    const std::vector<std::string> lines = split(std::string_view(result.said).substr(begin), '\n');
    const std::vector<std::string> words = split(lines[0], ' ');
    if (words.size() < 4 || words[2] != hash_of_this_program()) {
      hello.why_not = fmt::format("{} there is evo {}, another program than evo {} here", program,
                                  words.size() > 1 ? words[1] : "?", EVO_VERSION);
      return hello;
    }
    hello.same = true;
    hello.host = words[3];
    hello.complaint = result.complaint;
    if (result.done && lines.size() > 1) hello.devices = devices_from_json(lines[1]);
    return hello;
  }

  void run_there(const std::vector<std::string>& words, const std::string& input = "",
                 double seconds = kAnswerSeconds) const {
    const CommandResult result = run(words, input, seconds);
    if (!result.done) throw machine_error(fmt::format("`{}` there: {}", words.front(), result.complaint));
  }

  /// The user on the other host, a number.
  std::string user_there() const {
    const CommandResult result = run({"id", "-u"});
    if (!result.done) throw machine_error(fmt::format("no command runs there: {}", result.complaint));
    std::string user;
    for (const std::string& line : split(result.said, '\n')) {
      if (number_in<std::uint32_t>(line)) user = line;
    }
    if (user.empty()) throw machine_error("`id -u` there gives no number");
    return user;
  }

  /// A folder for a copy of this program on the other host. Nobody else may write there, nor have made it: its name can
  /// be guessed.
  std::filesystem::path folder_there(const std::string& user) const {
    const std::string folder = fmt::format("/tmp/evo-{}-{}", user, hash_of_this_program());
    const std::vector<std::string> is_ours = {"find", folder,  "-maxdepth", "0",     "-type",
                                              "d",    "-perm", "700",       "-user", user};
    if (!has_line(run(is_ours), folder)) run_there({"mkdir", "-m", "700", folder});
    return folder;
  }

  void copy_program(const std::string& to) const {
    const std::string part = fmt::format("{}.{:x}", to, fresh_salt());
    run_there({"dd", "of=" + part, "bs=64k"}, "/proc/self/exe", kCopySeconds);
    run_there({"chmod", "700", part});
    run_there({"mv", part, to});
  }

  /// Says hello through a copy of this program, which is made where there is none.
  Hello hello_of_copy(const std::string& program, const std::string& list) const {
    Hello answer = hello(program, list);
    if (answer.same) return answer;
    copy_program(program);
    answer = hello(program, list);
    if (!answer.same) throw machine_error(fmt::format("the copy does not run: {}", answer.why_not));
    return answer;
  }

  const std::string& prefix_;
  const StopSignal* stop_;
};

}  // namespace

HostDevices devices_behind(const std::string& prefix, const std::string& list, const StopSignal* stop) {
  if (prefix.empty() || prefix == "here") return {{}, find_devices(list), ""};
  try {
    return RemoteHost(prefix, stop).devices(list);
  } catch (const Error& error) {
    throw machine_error(fmt::format("{}: {}", prefix, error.what()));
  }
}

std::vector<std::string> read_hosts(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw usage_error(fmt::format("--hosts {}: cannot be read", path));
  std::vector<std::string> prefixes;
  for (std::string line; std::getline(file, line);) {
    const std::string_view prefix = trim(std::string_view(line).substr(0, line.find('#')));
    if (!prefix.empty()) prefixes.emplace_back(prefix);
  }
  if (prefixes.empty()) throw usage_error(fmt::format("--hosts {}: names no host", path));
  return prefixes;
}

int say_hello(const std::string& list) {
  fmt::print("{}{} {} {}\n", kGreets, EVO_VERSION, hash_of_this_program(), this_host());
  try {
    fmt::print("{}\n", devices_to_json(find_devices(list)));
    return kDone;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kMachine;
  }
}

}  // namespace evo::cli
