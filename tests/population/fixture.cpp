#include "tests/population/fixture.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "engine/base/hash.h"

namespace evo::test {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "evo-test-XXXXXX").string();
  if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code error;
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all, error);
  std::filesystem::remove_all(path_, error);
}

std::vector<std::string> TempFolder::files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

RunInfo run_info(const std::string& task_hash, const std::string& device_name) {
  RunInfo info;
  info.task = "toy";
  info.task_hash = task_hash;
  info.files = {{"toy/task.json", "{\"of\": \"" + task_hash + "\"}"}, {"include/a.cuh", "// shared by all\n"}};
  info.device = {"cuda:0", "cuda", device_name, "sm_90a", "GPU-1", "580.1", {{"sm", std::int64_t{90}}}};
  info.target.options = {{"out", std::string("f16")}};
  info.target.timed = {{"mission", {{"S", std::int64_t{512}}}}};
  info.target.validated = {{"mission", {{"S", std::int64_t{512}}}}, {"tail", {{"S", std::int64_t{77}}}}};
  info.objective = objective_of(info.target);
  info.strategy = "evolve";
  info.seed = 7;
  info.salt = 0xfedcba9876543210u;
  info.evaluation_limit = 40;
  info.time_limit_s = 12.5;
  info.width = 4;
  info.command_line = "evo run --task toy";
  info.evo_version = "0.1.0";
  info.nvrtc_version = "13.0";
  return info;
}

Proposal proposal(std::uint64_t ticket, std::vector<std::uint64_t> parents) {
  Genome genome{"plain", {{"tile", static_cast<std::int64_t>(ticket)}, {"ping", true}, {"layout", std::string("xor")}}};
  return {ticket, genome, parents.empty() ? "random" : "crossover", std::move(parents)};
}

Candidate candidate(const Proposal& proposal, const std::string& source) {
  Program program;
  program.specialisation = {{"D", std::int64_t{64}}};
  program.source = source;
  program.max_registers = 96;
  program.source_hash = hash_of_source(source, program.max_registers);
  return {proposal.genome, {program}};
}

Evaluation valid(double latency_us, const std::string& cubin) {
  Evaluation evaluation;
  evaluation.verdict = Verdict::valid;
  evaluation.builds = {{"D=64", "sm_90a", "cubin " + cubin, 12.5, "--std=c++17 -v", "ptxas info"}};
  evaluation.builds[0].kernels = {
      {"k", {.registers = 72, .spill_bytes = 8, .stack_bytes = 16, .static_smem_bytes = 1024, .launched = true}}};
  evaluation.errors = {{"mission", 3, "normal", "o", 0.01, 0.02, 0.9999}};
  evaluation.timings = {{"mission",
                         false,
                         false,
                         latency_us,
                         latency_us - 0.1,
                         latency_us + 0.1,
                         2,
                         {latency_us, latency_us + 0.05},
                         {1965, 1980, 3201, 1, true, 61}}};
  evaluation.latency_us = latency_us;
  evaluation.worst_relative_l2 = 0.01;
  evaluation.salt = 11;
  evaluation.ran_on = {"cuda:1", "GPU-2", "node7"};
  return evaluation;
}

Evaluation failed(Verdict verdict, const std::string& reason) {
  Evaluation evaluation;
  evaluation.verdict = verdict;
  evaluation.reason = reason;
  return evaluation;
}

ChildResult in_unprivileged_child(const std::function<void()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    const uid_t nobody = 65534;
    if (::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0)) ::_exit(99);
    int code = 0;
    std::string message;
    try {
      body();
    } catch (const Error& error) {
      message = error.what();
      code = error.fault() == Fault::usage ? 2 : 3;
    }
    if (::write(STDOUT_FILENO, message.data(), message.size()) < 0) code = 98;
    ::_exit(code);
  }
  ::close(ends[1]);
  ChildResult result;
  char buffer[4096];
  for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;) result.output.append(buffer, count);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

bool is_one_line(const std::string& message) {
  return !message.empty() && message.find('\n') == std::string::npos;
}

}  // namespace evo::test
