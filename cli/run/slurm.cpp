#include "cli/run/slurm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "evaluator/worker/prefix_command.h"

namespace evo::cli {
namespace {

constexpr const char* kSlurm = "--slurm";
constexpr double kSlurmSeconds = 60;  // for an answer

/// What this process was called with, without --slurm and its value.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::string> kept;
  bool is_value = false;
  for (const std::string& argument : split(std::string_view(all).substr(0, all.empty() ? 0 : all.size() - 1), '\0')) {
    const bool named = argument == kSlurm;
    if (!is_value && !named && !argument.starts_with(std::string(kSlurm) + '=')) kept.push_back(argument);
    is_value = !is_value && named;
  }
  return kept;
}

}  // namespace

std::vector<std::string> prefixes_of_allocation() {
  const char* nodes = std::getenv("SLURM_JOB_NODELIST");
  if (nodes == nullptr)
    throw usage_error(
        "--workers slurm: this is no Slurm allocation (SLURM_JOB_NODELIST is not set): start with --slurm");
  const CommandResult named = run_behind("", {"scontrol", "show", "hostnames", nodes}, "", kSlurmSeconds);
  std::vector<std::string> prefixes;
  for (const std::string& node : split(named.said, '\n'))
    if (!node.empty()) prefixes.push_back(fmt::format("srun -Q -N1 -n1 --no-kill --overlap -w {}", node));
  if (!named.done || prefixes.empty())
    throw machine_error(
        fmt::format("--workers slurm: scontrol does not name the nodes of {}: {}", nodes, named.complaint));
  return prefixes;
}

void run_in_allocation(const std::string& options) {
  if (!run_behind("", {"salloc", "--version"}, "", kSlurmSeconds).done)
    throw machine_error("--slurm: there is no salloc in PATH: run on a host of the cluster");
  // The shell splits the options as one would type them. --no-kill: a node that fails does not end the others.
  const std::string command = "exec salloc --no-kill --ntasks-per-node=1 " + options + " \"$@\"";
  std::vector<std::string> words = {"sh", "-c", command, "sh"};
  for (std::string& argument : own_arguments()) words.push_back(std::move(argument));
  words[4] = std::filesystem::read_symlink("/proc/self/exe");
  words.insert(words.end(), {"--workers", "slurm"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  throw machine_error("--slurm: there is no shell");
}

}  // namespace evo::cli
