#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/fixed_width.h"
#include "cli/format.h"
#include "cli/json_documents.h"
#include "cli/lookup.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run_summary.h"
#include "cli/signals.h"
#include "cli/suggest.h"
#include "cli/templates.h"
#include "engine/error.h"
#include "engine/rng.h"
#include "engine/search.h"
#include "engine/strategy.h"
#include "evaluator/compiler.h"
#include "evaluator/pipeline.h"
#include "population/store.h"

namespace evo::cli {
namespace {

constexpr std::uint64_t kEvaluationsOnCuda = 200;
constexpr std::uint64_t kEvaluationsOnVgpu = 40;

/// As typed; empty where nothing was said.
struct Request {
  std::string task;
  std::string device;
  std::vector<std::string> shapes;
  std::string evaluations;
  std::string time;
  std::string seed;
  std::string strategy;
  std::vector<std::string> options;
  std::string resume;
  std::string database = kDefaultDatabase;
  std::string templates;
  std::string family;
  bool quiet = false;
  bool json = false;
};

/// A run that is ready to start: a new one, or one that is resumed.
struct Prepared {
  RunInfo info;
  Task task;
  DeviceInfo device;
  std::string notice;  ///< For people, before it starts.
  std::optional<RunId> resumed;
  std::uint64_t recalled = 0;  ///< Stored answers of the resumed run.
  std::optional<std::chrono::milliseconds> time_limit;
};

std::uint64_t random_number() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32) | source();
}

/// Seeds that were not given are short enough to type again.
std::uint64_t random_seed() {
  return random_number() >> 32;
}

/// The same seed must give the same inputs; drawn from a stream of its own, as the strategy uses the seed
/// itself.
std::uint64_t salt_of(std::uint64_t seed) {
  return Rng(seed ^ 0x73616c7473616c74).next();
}

std::string checked_strategy(const std::string& name) {
  const std::vector<std::string> names = strategy_names();
  if (name.empty()) return names.front();
  if (std::find(names.begin(), names.end(), name) == names.end()) throw unknown_name("strategy", name, names);
  return name;
}

std::uint64_t evaluation_limit(const Request& request, const DeviceInfo& device) {
  if (!request.evaluations.empty()) return parse_number("--evals", request.evaluations, 1);
  if (!request.time.empty()) return 0;
  return device.kind == "cuda" ? kEvaluationsOnCuda : kEvaluationsOnVgpu;
}

std::optional<std::chrono::milliseconds> time_limit(const Request& request) {
  if (request.time.empty()) return {};
  return parse_duration("--time", request.time);
}

Prepared prepare_new(const Request& request, const std::string& command_line) {
  Prepared run;
  const SourceTree tree = load_templates(request.templates);
  run.task = find_task(tree, request.task);
  run.time_limit = time_limit(request);
  RunInfo& info = run.info;
  info.strategy = checked_strategy(request.strategy);
  info.seed = request.seed.empty() ? random_seed() : parse_number("--seed", request.seed);
  info.salt = request.seed.empty() ? random_number() : salt_of(info.seed);
  const std::vector<std::string> shapes = parse_shapes(run.task, request.shapes);
  const Bindings options = parse_options(run.task, request.options);
  run.device = find_device(request.device.empty() ? "auto" : request.device, &run.notice);
  info.task = run.task.name;
  info.task_hash = run.task.hash;
  info.files = files_of_task(tree, run.task.name);
  info.family = request.family;
  info.device = record_of(run.device);
  info.target = make_target(run.task, run.device.kind, shapes, options);
  info.objective = objective_of(info.target);
  info.evaluation_limit = evaluation_limit(request, run.device);
  if (run.time_limit) info.time_limit_s = std::chrono::duration<double>(*run.time_limit).count();
  info.command = command_line;
  info.evo_version = EVO_VERSION;
  return run;
}

/// A resumed run takes everything from the database: an argument that says otherwise is a misunderstanding.
void refuse_other_arguments(const Request& request) {
  const auto refuse = [](const char* option, bool given) {
    if (given)
      throw usage_error(
          fmt::format("{} cannot be combined with --resume: a resumed run keeps its own", option));
  };
  refuse("--task", !request.task.empty());
  refuse("--device", !request.device.empty());
  refuse("--shapes", !request.shapes.empty());
  refuse("--seed", !request.seed.empty());
  refuse("--strategy", !request.strategy.empty());
  refuse("--option", !request.options.empty());
  refuse("--family", !request.family.empty());
}

/// The GPU that a run was made on may have another number by now; another GPU may have its number.
DeviceInfo same_device(const RunRow& row) {
  const DeviceRecord& record = row.info.device;
  if (record.kind == "vgpu") return resolve_device(record.id);
  for (const DeviceInfo& device : all_devices()) {
    if (device.kind == record.kind && device.uuid == record.uuid) return device;
  }
  throw machine_error(
      fmt::format("run {} was made on {} ({}), which is not in this machine: start a new run instead", row.id,
                  record.name, record.uuid));
}

/// Changed templates do not change a run that was started before: it goes on with the files it has stored.
std::string changed_templates_notice(const Request& request, const Task& stored) {
  try {
    const SourceTree tree = load_templates(request.templates);
    if (load_task(tree, stored.name).hash == stored.hash) return {};
  } catch (const Error&) {
    return {};  // Without templates there is nothing that could have changed.
  }
  return fmt::format(
      "the templates of {} have changed since: the run goes on with its own (start a new run for the others)",
      stored.name);
}

Prepared prepare_resumed(const Request& request) {
  refuse_other_arguments(request);
  const RunId id = parse_id("run", request.resume);
  const Store store = Store::open(request.database, Store::Mode::read);
  const RunRow row = find_run(store, id);
  Prepared run;
  run.resumed = id;
  run.recalled = row.evaluated;
  run.info = row.info;
  run.info.files = store.task_files(row.info.task_hash);
  run.task = load_task(run.info.files, row.info.task);
  if (run.task.hash != row.info.task_hash) {
    throw usage_error(fmt::format(
        "run {}: its stored files of {} give another task hash ({} instead of {}): start a new run", id,
        row.info.task, run.task.hash, row.info.task_hash));
  }
  run.device = same_device(row);
  run.notice = changed_templates_notice(request, run.task);
  if (request.evaluations.empty() && row.info.evaluation_limit > 0 &&
      row.evaluated >= row.info.evaluation_limit) {
    run.notice = fmt::format("run {} has had its {} evaluations: give --evals a larger number to go on", id,
                             row.evaluated);
  }
  if (!request.evaluations.empty())
    run.info.evaluation_limit = parse_number("--evals", request.evaluations, 1);
  run.time_limit = time_limit(request);
  const bool any_limit = run.info.evaluation_limit > 0 || run.time_limit;
  if (!any_limit && row.info.time_limit_s > 0) {
    run.time_limit = std::chrono::milliseconds(std::llround(row.info.time_limit_s * 1e3));
  }
  return run;
}

std::unique_ptr<Evaluator> start_evaluator(Prepared& run) {
  PipelineOptions options;
  options.task = run.task;
  options.tree = run.info.files;
  options.target = run.info.target;
  options.device = run.device;
  options.salt = run.info.salt;
  std::unique_ptr<Evaluator> pipeline = make_pipeline(std::move(options));
  if (run.info.width == 0) run.info.width = pipeline->width();
  return std::make_unique<FixedWidth>(std::move(pipeline), run.info.width);
}

void make_parent_folder(const std::string& database) {
  const std::filesystem::path parent = std::filesystem::path(database).parent_path();
  if (parent.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) {
    throw machine_error(
        fmt::format("cannot make the folder {} for the database: {} (choose another with --db)",
                    parent.string(), error.message()));
  }
}

SearchLimits limits_of(const Prepared& run, const std::atomic<bool>& stop) {
  using Clock = std::chrono::steady_clock;
  SearchLimits limits;
  limits.evaluations = run.info.evaluation_limit > 0 ? run.info.evaluation_limit : UINT64_MAX;
  limits.stop = &stop;
  if (run.time_limit) {
    limits.out_of_time = [end = Clock::now() + *run.time_limit] { return Clock::now() >= end; };
  }
  return limits;
}

void announce(const Prepared& run, RunId id, const Space& space, const Request& request) {
  if (!run.notice.empty()) fmt::print(stderr, "{}\n", run.notice);
  if (request.quiet) return;
  const RunInfo& info = run.info;
  std::vector<std::string> timed;
  for (const Shape& shape : info.target.timed) timed.push_back(shape.name);
  const std::string begun = run.resumed ? fmt::format(" goes on after {} evaluations", run.recalled) : "";
  fmt::print(stderr, "run {}{}: {} on {} ({}), timed on {}, {} of {} legal genomes, {}, seed {}\n", id, begun,
             info.task, run.device.id, run.device.name, fmt::join(timed, ","),
             info.evaluation_limit > 0 ? grouped(info.evaluation_limit) : "as many as there is time for",
             grouped(space.size()), info.strategy, info.seed);
}

/// The search itself. Whatever ends it, the run's row says so and nothing that was recorded is lost.
SearchResult search_recorded(RunId id, Store& store, Strategy& strategy, Evaluator& evaluator,
                             const std::function<Candidate(const Genome&)>& build, const SearchLimits& limits,
                             ProgressReport& progress) {
  const std::unique_ptr<Archive> archive = store.archive(id);
  try {
    const SearchResult result = search(strategy, evaluator, *archive, build, limits,
                                       [&](const SearchProgress& now) { progress.update(now); });
    progress.finish();
    store.finish_run(id, result.interrupted ? RunStatus::interrupted : RunStatus::finished);
    return result;
  } catch (const Error& error) {
    progress.finish();
    try {
      store.finish_run(id, RunStatus::failed);
    } catch (const Error&) {
      // The first error is the one to tell; an unfinished run can be resumed just the same.
    }
    if (error.fault() == Fault::usage) throw;
    throw machine_error(
        fmt::format("{} (what was evaluated is kept: evo run --resume {})", error.what(), id));
  }
}

/// Renders one genome of a family: a malformed template throws here instead of in the middle of the search.
void try_family(const Space& space, const std::string& family,
                const std::function<Candidate(const Genome&)>& build) {
  if (space.size(family) == 0) return;
  Rng rng(0);
  build(space.sample(rng, family));
}

int exit_code_of(const SearchResult& result) {
  if (result.interrupted) return kInterrupted;
  return result.valid > 0 ? kDone : kNothingValid;
}

int run(const Request& request, const std::string& command_line) {
  // From here on Ctrl-C ends cleanly.
  const InterruptGuard interrupt;

  // What to search: from the command line, or from the run that is resumed.
  Prepared run = request.resume.empty() ? prepare_new(request, command_line) : prepare_resumed(request);

  // The legal genomes, and how to walk them.
  const Space space = make_space(run.info.files, run.task, run.device, run.info.target, run.info.family);
  const std::unique_ptr<Strategy> strategy = make_strategy(run.info.strategy, space, run.info.seed);

  // Candidates from genomes. What is wrong with a template, or missing for compiling, is found before
  // anything is written.
  const Bindings facts = facts_of(run.device.limits);
  const auto build = [&](const Genome& genome) {
    return make_candidate(run.info.files, run.task, space.family(genome.family), genome, run.info.target,
                          facts);
  };
  for (const Family& family : space.families()) try_family(space, family.name, build);
  if (!run.resumed) run.info.nvrtc_version = make_nvrtc_compiler()->version();
  const std::unique_ptr<Evaluator> evaluator = start_evaluator(run);

  // The database.
  make_parent_folder(request.database);
  Store store = Store::open(request.database, Store::Mode::write);
  const RunId id = run.resumed ? *run.resumed : store.begin_run(run.info);
  if (run.resumed) store.reopen_run(id, run.info.evaluation_limit);
  announce(run, id, space, request);

  // The search.
  ProgressReport progress({.terminal = terminal_of(stderr),
                           .quiet = request.quiet,
                           .modelled = run.device.kind == "vgpu",
                           .evaluations = run.info.evaluation_limit,
                           .time_limit = run.time_limit,
                           .recalled = run.recalled});
  const SearchResult result = search_recorded(id, store, *strategy, *evaluator, build,
                                              limits_of(run, interrupt.requested()), progress);

  // The report.
  const RunSummary summary = summarise(store, id, result);
  fmt::print("{}",
             request.json ? run_json(summary) : run_text(summary, request.database, terminal_of(stdout)));
  return exit_code_of(result);
}

}  // namespace

void add_run(CLI::App& app, Action& action, const std::string& command_line) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("run", "Evolve kernels for a task; the three best are kept as elites");
  command->add_option("--task", request->task, "What to compute (evo tasks lists them)")->type_name("TASK");
  command
      ->add_option("--device", request->device,
                   "auto: the first CUDA GPU, else the virtual one; cuda:N; vgpu[:h200|h100|a100|l4|rtx4090]")
      ->type_name("DEVICE");
  command->add_option("--shapes", request->shapes, "Shapes to time: names or sizes, as mission or 1,8,512,64")
      ->allow_extra_args(false)
      ->type_name("A,B");
  command
      ->add_option("--evals", request->evaluations,
                   fmt::format("Candidates to evaluate (default: {} on a GPU, {} on a virtual one)",
                               kEvaluationsOnCuda, kEvaluationsOnVgpu))
      ->type_name("N");
  command->add_option("--time", request->time, "Stop after this long: 90s, 10m, 1h")->type_name("DURATION");
  command->add_option("--seed", request->seed, "Repeat the same search (default: random, and printed)")
      ->type_name("S");
  command->add_option("--strategy", request->strategy, "evolve (default) or random")->type_name("NAME");
  command->add_option("--option", request->options, "An option of the task, as out=bf16; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  command->add_option("--family", request->family, "Search this family only")->type_name("NAME");
  command
      ->add_option("--resume", request->resume,
                   "Go on with this run (evo runs lists them); --evals may raise its limit")
      ->type_name("RUN");
  command->add_option("--db", request->database, kDatabaseHelp)->capture_default_str()->type_name("FILE");
  command->add_option("--templates", request->templates, kTemplatesHelp)->type_name("DIR");
  command->add_flag("--quiet", request->quiet, "No progress");
  command->add_flag("--json", request->json, kJsonHelp);
  command->callback([request, &action, command_line] {
    action = [request, command_line] { return run(*request, command_line); };
  });
}

}  // namespace evo::cli
