#include "cli/run/remote_hosts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "cli/subject/lookup.h"
#include "cli/text/exit_code.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "evaluator/worker/device_facts.h"
#include "evaluator/worker/prefix_command.h"
#include "evaluator/worker/remote_link.h"

namespace evo::cli {
namespace {

constexpr double kAnswerSeconds = 60;
constexpr double kCopySeconds = 300;
/// Begins the first line of a hello: a login shell may say something before.
constexpr std::string_view kGreets = "evo-hello ";

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string this_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

/// What a program behind a prefix has said of itself.
struct Hello {
  bool same = false;  ///< It is this program.
  std::string why_not;
  std::string host;
  std::vector<DeviceInfo> devices;
};

Hello hello(const std::string& prefix, const std::string& program, const std::string& list) {
  Hello hello;
  const CommandResult result = run_behind(prefix, {program, "worker", kHello, list}, "", kAnswerSeconds);
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
  if (!result.done) throw machine_error(result.complaint);
  if (lines.size() < 2) throw machine_error("its list of devices is missing");
  hello.devices = devices_from_json(lines[1]);
  return hello;
}

void run_there(const std::string& prefix, const std::vector<std::string>& words, const std::string& input,
               double seconds) {
  const CommandResult result = run_behind(prefix, words, input, seconds);
  if (!result.done) throw machine_error(fmt::format("`{}` there: {}", words.front(), result.complaint));
}

/// Where a copy of this program lies on another host.
std::filesystem::path place_of_copy() {
  return std::filesystem::path(fmt::format("/tmp/evo-{}-{}", ::getuid(), hash_of_this_program())) / "evo";
}

void copy_program(const std::string& prefix, const std::filesystem::path& to) {
  const std::string part = to.string() + ".part";
  run_there(prefix, {"mkdir", "-p", "-m", "700", to.parent_path().string()}, "", kAnswerSeconds);
  run_there(prefix, {"dd", "of=" + part, "bs=64k"}, "/proc/self/exe", kCopySeconds);
  run_there(prefix, {"chmod", "700", part}, "", kAnswerSeconds);
  run_there(prefix, {"mv", part, to.string()}, "", kAnswerSeconds);
}

std::vector<DeviceInfo> found_there(const std::string& prefix, const std::string& list) {
  std::string program = this_program();
  Hello answer = hello(prefix, program, list);
  const std::string why_not_found = answer.why_not;
  if (!answer.same) {
    program = place_of_copy().string();
    answer = hello(prefix, program, list);
  }
  if (!answer.same) {
    try {
      copy_program(prefix, program);
    } catch (const Error& error) {
      throw machine_error(fmt::format("evo is not there ({}) and cannot be copied: {}", why_not_found, error.what()));
    }
    answer = hello(prefix, program, list);
  }
  if (!answer.same) throw machine_error(fmt::format("evo was copied there and does not run: {}", answer.why_not));
  for (DeviceInfo& device : answer.devices) {
    device.host = answer.host;
    device.reached_by = prefix;
    device.program = program;
  }
  return std::move(answer.devices);
}

}  // namespace

std::vector<DeviceInfo> devices_behind(const std::string& prefix, const std::string& list) {
  if (prefix.empty() || prefix == "here") return find_devices(list);
  try {
    return found_there(prefix, list);
  } catch (const Error& error) {
    throw machine_error(fmt::format("{}: {}", prefix, error.what()));
  }
}

std::vector<std::string> read_hosts(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw usage_error(fmt::format("--hosts {}: cannot be read", path));
  std::vector<std::string> prefixes;
  for (std::string line; std::getline(file, line);) {
    line = line.substr(0, line.find('#'));
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos) continue;
    const std::string prefix = line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    prefixes.push_back(prefix);
  }
  if (prefixes.empty()) throw usage_error(fmt::format("--hosts {}: names no host", path));
  return prefixes;
}

int say_hello(const std::string& list) {
  fmt::print("{}{} {} {}\n", kGreets, EVO_VERSION, hash_of_this_program(), host_name());
  try {
    fmt::print("{}\n", devices_to_json(find_devices(list)));
    return kDone;
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kMachine;
  }
}

}  // namespace evo::cli
