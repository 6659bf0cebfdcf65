#pragma once

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/bench.h"

extern char** environ;

namespace evo::testing {

/// What the tests' servers of language models get as a key.
inline const std::string kLlmTestKey = "sk-test-5f2c/91+key";

/// llm_server.py, as long as this exists.
class LlmServer {
 public:
  LlmServer(const Bench& bench, const std::string& mode, const std::vector<nlohmann::json>& answers = {})
      : bench_(bench), folder_("server_" + mode) {
    std::string lines;
    for (const nlohmann::json& proposals : answers)
      lines += nlohmann::json{{"reasoning", "a test"}, {"proposals", proposals}}.dump() + "\n";
    bench.write(folder_ + "/answers", lines);
    std::string script = EVO_SOURCE_DIR "/tests/cli/run/llm_server.py", folder = (bench / folder_).string(),
                called = mode;
    std::string python = "python3";
    char* arguments[] = {python.data(), script.data(), called.data(), folder.data(), nullptr};
    REQUIRE(posix_spawnp(&pid_, "python3", nullptr, nullptr, arguments, environ) == 0);
    while (!std::filesystem::exists(bench / (folder_ + "/port"))) {
      REQUIRE(::waitpid(pid_, nullptr, WNOHANG) == 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  ~LlmServer() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  LlmServer(const LlmServer&) = delete;
  LlmServer& operator=(const LlmServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + bench_.read(folder_ + "/port"); }
  bool has(const std::string& file) const { return std::filesystem::exists(bench_ / (folder_ + "/" + file)); }
  std::string folder() const { return folder_; }

  std::vector<nlohmann::json> requests(const std::string& file = "requests") const {
    std::vector<nlohmann::json> requests;
    if (!has(file)) return requests;
    std::istringstream lines(bench_.read(folder_ + "/" + file));
    for (std::string line; std::getline(lines, line);) requests.push_back(nlohmann::json::parse(line));
    return requests;
  }
  /// All that the model was asked, one prompt after another.
  std::string prompts() const {
    std::string text;
    for (const nlohmann::json& request : requests())
      for (const nlohmann::json& message : request["body"]["messages"])
        text += message["content"].get<std::string>() + "\n";
    return text;
  }

 private:
  const Bench& bench_;
  std::string folder_;
  pid_t pid_ = -1;
};

}  // namespace evo::testing
