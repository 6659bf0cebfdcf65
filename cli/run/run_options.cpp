#include "cli/run/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <string_view>
#include <type_traits>

#include "cli/subject/arguments.h"
#include "cli/text/format.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/search/presearch.h"
#include "engine/search/surrogate_screening.h"
#include "engine/strategy/strategies.h"
#include "evaluator/hosts/devices.h"

namespace evo::cli {
namespace {

/// "5m00s on a GPU, 60.0 s on the virtual GPU"
std::string default_times() {
  return joined(kind_names(), ", ", [&](const std::string_view name) {
    return fmt::format("{} on {}", duration_text(kind_named(name).run_s), kind_named(name).title);
  });
}

std::vector<std::string> device_usages() {
  std::vector<std::string> usages;
  for (const DeviceBackend& backend : device_backends()) usages.push_back(backend.usage);
  return usages;
}

/// Adds options, each in a group of the command's help.
struct RunOptions {
  CLI::App& command;
  RunRequest& request;

  template <typename Value>
  CLI::Option* add(const char* group, const char* name, Value& value, const std::string& type,
                   const std::string& help) {
    return add_option(command, name, type, value, help)->group(group);
  }

  /// A setting that a resumed run has from the run that it continues.
  template <typename Value>
  void setting(const char* group, const char* name, Value& value, const std::string& type, const std::string& help) {
    note(add(group, name, value, type, help), name);
  }
  void note(CLI::Option* option, const char* name) {
    option->each([&request = request, name](const std::string& value) {
      if (!value.empty()) request.settings.emplace_back(name);
    });
  }

  CLI::Option* add_flag(const char* group, const char* name, bool& value, const char* help) {
    return command.add_flag(name, value, help)->group(group);
  }
  void group(const char* group, const std::vector<const char*>& names) {
    for (const char* name : names) command.get_option(name)->group(group);
  }
};

void add_problem(RunOptions& options) {
  RunRequest& request = options.request;
  options.setting("Problem", "--device", request.device, "DEVICE",
                  fmt::format("auto (the first device of these that is there), {}", fmt::join(device_usages(), ", ")));
  options.add("Problem", "--devices", request.devices, "DEVICE,...",
              "Several devices of one model instead: cuda:0,cuda:1, cuda:all, vgpu:h200,vgpu:h200. A free one "
              "evaluates each candidate (docs/scale.md)");
  options.add(
      "Problem", "--workers", request.workers, "PREFIX",
      "Another host: a command that runs its arguments there, such as 'ssh node7' or 'srun -N1 -n1 --overlap -w "
      "node7'; `here` is this host, `slurm` are the nodes of this Slurm allocation; may be repeated. "
      "--devices names the devices of each; a host without them only models or compiles (docs/scale.md)");
  options.add("Problem", "--hosts", request.hosts, "FILE",
              "A file with such a PREFIX in each line; hosts of lines added later join the run");
  options.add(
      "Problem", "--slurm", request.slurm, "OPTIONS",
      "Get an allocation from Slurm with these options of salloc, such as '-N2 --gpus-per-node=8 -t 2:00:00', and "
      "run on all of its nodes; it ends with the run");
  options.setting("Problem", "--shapes", request.shapes, "A,B",
                  "Shapes to time, by name (mission,long) or by all their sizes (1,8,512,64); with several shapes the "
                  "latency is the geometric mean");
  options.setting("Problem", "--option", request.options, "NAME=VALUE",
                  "An option of the task, such as out=bf16; may be repeated");
  options.setting("Problem", "--objective", request.objective, "NAME",
                  "Objective of the task: how large its errors may be (evo tasks lists them; default: the first)");
  options.setting("Problem", "--pareto", request.pareto, "error",
                  "Keep the front of latency over error: candidates of a looser objective count, too, and each point "
                  "is checked as elites are (evo front)");
}

void add_limits(RunOptions& options) {
  RunRequest& request = options.request;
  options.setting("Limits", "--in-flight", request.in_flight, "N",
                  fmt::format("Candidates under way at once, at most {}. A modelled search repeats with the same "
                              "number, on any devices (default: 4 on virtual GPUs, 2 for each GPU of a screened "
                              "search, else as many as keep GPUs busy)",
                              kMostInFlight));
  options.add("Limits", "--evals", request.evaluations, "N",
              "Stop after N candidates (default, without --time: once as many again are unlikely to bring 1 %)");
  options.add(
      "Limits", "--time", request.time, "DURATION",
      fmt::format("Stop after this time, the checks of elites included: 90s, 10m, 1h (default, without --evals: "
                  "{})",
                  default_times()));
  options
      .add(
          "Limits", "--check-time", request.check_time, "DURATION",
          "How long the end of the search waits for the checks of elites, beyond --time (default: what is left of it, "
          "and at most as long as the search took, or 10s; a search ends up to a quarter of the time earlier for them; "
          "0: they are not checked at all). Elites whose checks are not finished stay provisional; evo verify ID makes "
          "them")
      ->envname("EVO_CHECK_TIME");
  options.setting("Limits", "--until", request.until, "HOW-FAST",
                  "Stop once a candidate is this fast: 20us, 1.5ms; 95%, of the floor; '1.1x RIVAL', so many times as "
                  "fast as evo baseline found that rival");
}

void add_strategy(RunOptions& options) {
  RunRequest& request = options.request;
  options.setting("Search", "--answers", request.answers, "asked|finished",
                  "In which order the strategy gets results. asked: reproducible if latencies are. finished: does not "
                  "wait for the slowest. (default: finished on several GPUs, else asked)");
  options.setting("Search", "--seed", request.seed, "S",
                  "Seed of the search: the same seed repeats it (default: random; it is printed)");
  options.setting("Search", "--strategy", request.strategy, fmt::format("{}", fmt::join(strategy_names(), "|")),
                  "What proposes the genomes (default: evolve)");
  options.setting("Search", "--seed-from", request.seed_from, "FROM",
                  "Warm start: begin with the best genomes of other runs of this task. FROM is a database, the number "
                  "of a run in --db, an exported .cu file, or results of evo export --format; may be repeated");
  options.setting(
      "Search", "--screen", request.screen, "N",
      fmt::format("Surrogate screening: evaluate only one of every N proposals (at most {}), the fastest by the "
                  "virtual GPU's cost model (default: {} for evolve on a GPU that has a virtual model, else "
                  "1)",
                  kMostScreened, ScreeningOptions().among));
  options.setting(
      "Search", "--presearch", request.presearch, "M",
      fmt::format("Model-only pre-search: first search M genomes (at most {}) with the cost model alone and begin "
                  "with the best (default: {}, at most twice --evals, where proposals are screened by default; "
                  "else 0)",
                  kMostPresearched, Presearch().genomes));
  add_former_name(options.command, "--rehearse", "--presearch", request.presearch);
  options.note(options.command.get_option("--rehearse"), "--presearch");
}

void add_proposers(RunOptions& options) {
  RunRequest& request = options.request;
  options.add("Search", "--proposer", request.proposer, "CMD",
              "A command that proposes genomes, alleles and kernels as JSON lines, in addition to the strategy "
              "(docs/proposer.md)");
  options.add("Search", "--proposer-share", request.proposer_share, "P",
              "The proposer's largest share of the evaluations, in percent");
  options.add("Search", "--proposer-deadline", request.proposer_deadline, "DURATION",
              "Time limit of the proposer's answer");
  options.add("Search", "--proposals", request.proposals, "FILE",
              "Evaluate the proposals of this file, JSON as a proposer answers, and nothing else; with --resume they "
              "may begin with candidates of that run (docs/proposer.md)");
  options.add_flag("Search", "--edits", request.edits,
                   "Also edit the sources of valid kernels: statements, conditions, numbers, barriers and loops "
                   "(docs/evolution.md)");
  options.add("Search", "--edits-share", request.edits_share, "P",
              "The edited kernels' largest share of the evaluations, in percent. Their success decides between a fifth "
              "of that and all of it");
  add_llm_options(options.command, request.llm);
  options.group("Language model", llm_option_names());
  options.add("Language model", "--llm-share", request.llm_share, "P",
              "The language model's largest share of the evaluations, in percent. Its success decides between a "
              "fifth of that and all of it");
}

void add_output(RunOptions& options) {
  RunRequest& request = options.request;
  options.add("Search", "--profile", request.profile, "N",
              "Read the hardware counters of every N-th valid candidate and of the run's elites (default: only the "
              "elites, on a GPU; with --llm also every fourth candidate, or all on a virtual GPU; 0: none)");
  add_database_option(options.command, request.database);
  options
      .add("Output", "--watch", request.watch, "[PORT]",
           "Serve the live page of evo report to browsers of this machine while the run goes on, and print its address "
           "(docs/watch.md; default: a free port)")
      ->expected(0, 1);
  CLI::Option* quiet = options.add_flag("Output", "--quiet", request.quiet, "Print no progress");
  options
      .add_flag("Output", "--progress", request.progress, "Print progress as lines, one for every new best: for a log")
      ->excludes(quiet);
  options
      .add_flag("Output", "--verbose", request.verbose, "List the shapes that are not validated, each with the reason")
      ->excludes(quiet);
  add_json_flag(options.command, request.json);
  options.group("Output", {"--db", "--json"});
}

}  // namespace

void add_search_options(CLI::App& command, RunRequest& request) {
  RunOptions options{command, request};
  add_problem(options);
  add_limits(options);
  add_strategy(options);
  add_proposers(options);
  add_output(options);
}

void add_run_options(CLI::App& command, RunRequest& request) {
  RunOptions options{command, request};
  options.setting("Problem", "--task", request.task, "TASK", "The task (evo tasks lists them)");
  add_search_options(command, request);
  options.setting("Problem", "--family", request.family, "NAME", "Search only this family");
  options.add("Limits", "--resume", request.resume, "RUN",
              "Continue this run (evo runs lists them) with its settings; --evals or --time set new limits");
  add_templates_option(command, request.templates);
  options.group("Problem", {"--templates"});
}

}  // namespace evo::cli
