#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/run/cost_model_predictor.h"
#include "cli/run/elite_comparison.h"
#include "cli/run/fixed_width_evaluator.h"
#include "cli/run/progress.h"
#include "cli/run/proposer_process.h"
#include "cli/run/run_setup.h"
#include "cli/run/run_summary.h"
#include "cli/run/timing_disturbances.h"
#include "cli/run/warm_start.h"
#include "cli/selftest/selftest_record.h"
#include "cli/subject/arguments.h"
#include "cli/subject/json.h"
#include "cli/subject/lookup.h"
#include "cli/text/exit_code.h"
#include "cli/text/format.h"
#include "cli/text/json_text.h"
#include "cli/text/signals.h"
#include "cli/text/streams.h"
#include "engine/base/error.h"
#include "engine/base/rng.h"
#include "engine/base/text.h"
#include "engine/device/device_kind.h"
#include "engine/search/guided_strategy.h"
#include "engine/search/latency_predictor.h"
#include "engine/search/presearch.h"
#include "engine/search/proposer.h"
#include "engine/search/search.h"
#include "engine/search/seeds.h"
#include "engine/strategy/strategies.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/pipeline/binary_cache.h"
#include "evaluator/pipeline/pipeline.h"
#include "population/store/store.h"

namespace evo::cli {
namespace {

using Build = std::function<Candidate(const Genome&)>;

/// What a resumed run has evaluated before, so that copies are recognised as they would have been.
std::vector<Finished> finished_candidates(const RunRequest& request, const PreparedRun& run, const Build& build) {
  if (!run.resumed) return {};
  const Store store = Store::open(request.database, Store::Mode::read);
  std::vector<Finished> finished;
  for (const OutcomeRow& outcome : store.outcomes(*run.resumed)) {
    CandidateRow row = find_candidate(store, outcome.candidate);
    finished.push_back({outcome.ticket, build(row.genome), std::move(row.evaluation)});
  }
  return finished;
}

/// The pipeline, and in front of it the width that the run was started with.
struct Evaluators {
  DevicePipeline* pipeline = nullptr;
  std::unique_ptr<Evaluator> in_front;
};

Evaluators start_evaluator(PreparedRun& run, std::vector<Finished> finished, std::shared_ptr<BinaryCache> binaries) {
  PipelineOptions options;
  options.binaries = std::move(binaries);
  options.task = run.task;
  options.tree = run.info.files;
  options.target = run.info.target;
  options.device = run.device;
  options.salt = run.info.salt;
  options.finished = std::move(finished);
  std::unique_ptr<DevicePipeline> pipeline = make_pipeline(std::move(options));
  if (run.info.width == 0) run.info.width = pipeline->width();
  DevicePipeline* behind = pipeline.get();
  return {behind, std::make_unique<FixedWidthEvaluator>(std::move(pipeline), run.info.width)};
}

void make_parent_folder(const std::string& database) {
  const std::filesystem::path parent = std::filesystem::path(database).parent_path();
  if (parent.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) {
    throw machine_error(fmt::format("cannot make the folder {} for the database: {} (choose another with --db)",
                                    parent.string(), error.message()));
  }
}

SearchLimits limits_of(const PreparedRun& run, const std::atomic<bool>& stop) {
  using Clock = std::chrono::steady_clock;
  SearchLimits limits;
  limits.evaluations = run.info.evaluation_limit > 0 ? run.info.evaluation_limit : UINT64_MAX;
  limits.stop = &stop;
  if (run.time_limit) {
    limits.out_of_time = [end = Clock::now() + *run.time_limit] { return Clock::now() >= end; };
  }
  return limits;
}

double proposer_share(const RunRequest& request) {
  const std::uint64_t percent = parse_number("--proposer-share", request.proposer_share, 1);
  if (percent > 100) throw usage_error("--proposer-share: expected a percentage from 1 to 100");
  return static_cast<double>(percent) / 100;
}

std::unique_ptr<ProposerProcess> make_proposer(const RunRequest& request, const PreparedRun& run, const Space& space,
                                               const SearchLimits& limits) {
  if (request.proposer.empty()) return nullptr;
  const auto deadline = parse_duration("--proposer-deadline", request.proposer_deadline);
  ProposerOptions options{request.proposer, std::chrono::duration<double>(deadline).count()};
  options.ends = [limits] { return limits.stop->load() || (limits.out_of_time && limits.out_of_time()); };
  return std::make_unique<ProposerProcess>(std::move(options), run.task, run.info.target, space, run.device,
                                           run.info.files);
}

/// A proposer's answers cannot be had twice: a resumed run takes them from the database, and the templates that they
/// brought.
RecordedProposals recorded_proposals(const RunRequest& request, const PreparedRun& run, ProposedTemplates& templates) {
  RecordedProposals recorded;
  if (!run.resumed) return recorded;
  const Store store = Store::open(request.database, Store::Mode::read);
  for (const OutcomeRow& outcome : store.outcomes(*run.resumed)) {
    recorded.tickets = outcome.ticket + 1;
    if (outcome.op != "proposer") continue;
    CandidateRow row = find_candidate(store, outcome.candidate);
    templates.restore(row.files);
    recorded.genomes[outcome.ticket] = std::move(row.genome);
  }
  return recorded;
}

/// Whether a first presearch found something, which is among the seeds: of a run that is resumed, too.
bool presearches(const RunInfo& info) {
  return std::ranges::any_of(info.seeds, [](const Seed& seed) { return seed.origin == kPresearched; });
}

/// What proposes when no proposer of the user does.
std::unique_ptr<Strategy> own_strategy(const PreparedRun& run, const Space& space, LatencyPredictor* predictor) {
  return make_guided(run.info.strategy, space, run.info.seed, predictor,
                     {.screen = run.info.screen, .presearches = presearches(run.info)}, run.info.seeds);
}

std::vector<Seed> seeds_elsewhere(const PreparedRun& run, const Space& space, LatencyPredictor* predictor) {
  std::vector<Seed> seeds = seeds_in(space, run.elsewhere);
  if (seeds.empty() && !run.elsewhere.empty())
    throw usage_error("--seed-from: nothing there is of a family that this run searches");
  return predictor ? seeds_in(space, run.elsewhere, *predictor) : seeds;
}

/// What a presearch finds in at most a fifth of the run's time.
std::vector<Seed> presearched_seeds(const PreparedRun& run, const Space& space, LatencyPredictor& predictor,
                                    bool quiet) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begun = Clock::now();
  const Presearch presearch{.genomes = run.presearch};
  const bool live = !quiet && terminal_of(stderr).interactive;
  if (!quiet && !live) write_to_stderr(fmt::format("rehearsal: {} genomes are modelled first\n", presearch.genomes));
  std::size_t batches = 0;
  std::vector<Seed> seeds = run_presearch(space, run.info.strategy, run.info.seed, predictor, presearch, [&] {
    if (live)
      write_to_stderr(
          fmt::format("\rrehearsal: {} of {} genomes modelled", batches * presearch.together, presearch.genomes));
    ++batches;
    return run.time_limit && Clock::now() - begun > *run.time_limit / 5;
  });
  if (live) write_to_stderr("\r\x1b[K");
  return seeds;
}

/// What opens a new run: the best of other runs, and of a presearch.
std::vector<Seed> opening_of(const PreparedRun& run, const Space& space, LatencyPredictor* predictor, bool quiet) {
  std::vector<Seed> seeds = seeds_elsewhere(run, space, predictor);
  if (run.presearch > 0) std::ranges::move(presearched_seeds(run, space, *predictor, quiet), std::back_inserter(seeds));
  return seeds;
}

/// Says in one line when nothing has shown that wrong kernels of a new run's task are found on its device.
void warn_unless_selftested(const PreparedRun& run, const Store& store) {
  if (run.resumed) return;
  const std::string warning = selftest_warning(store, run.templates, run.task, run.device);
  if (!warning.empty()) write_to_stderr(fmt::format("{}\n", warning));
}

std::string strategy_text(const RunInfo& info) {
  return info.screen > 1 ? fmt::format("{}, the best modelled of {}", info.strategy, info.screen) : info.strategy;
}

void announce(const PreparedRun& run, RunId id, const Space& space, const RunRequest& request) {
  if (!run.notice.empty()) write_to_stderr(fmt::format("{}\n", run.notice));
  if (request.quiet) return;
  const RunInfo& info = run.info;
  std::vector<std::string> timed;
  for (const Shape& shape : info.target.timed) timed.push_back(shape.name);
  const std::string begun = run.resumed ? fmt::format(" goes on after {} evaluations", run.recalled) : "";
  write_to_stderr(
      fmt::format("run {}{}: {} on {} ({}), timed on {}, {} of {} legal genomes, {}, seed {}\n", id, begun, info.task,
                  run.device.id, run.device.name, fmt::join(timed, ","),
                  info.evaluation_limit > 0 ? grouped(info.evaluation_limit) : "as many as there is time for",
                  grouped(space.size()), strategy_text(info), info.seed));
  if (!info.seeds.empty() && !run.resumed) write_to_stderr(fmt::format("seeded with {}\n", seeds_text(info.seeds)));
}

/// The search itself. Whatever ends it, the run's row says so and nothing that was recorded is lost.
SearchResult search_recorded(RunId id, Store& store, Strategy& strategy, Evaluator& evaluator, const Build& build,
                             const SearchLimits& limits, ProgressReport& progress, ProposerProcess* proposer,
                             EliteJudge judge) {
  const std::unique_ptr<Archive> archive = store.archive(id, std::move(judge));
  try {
    TimingDisturbances watch;
    const SearchResult result = search(strategy, evaluator, *archive, build, limits, [&](const SearchProgress& now) {
      progress.update(now);
      if (now.last_evaluation == nullptr || now.last == nullptr) return;
      if (proposer) proposer->observe(*now.last, *now.last_evaluation);
      const std::string name = fmt::format("proposal {}", now.last->ticket);
      for (const std::string& line : watch.notice(name, *now.last_evaluation)) progress.say(line);
    });
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
    throw machine_error(fmt::format("{} (what was evaluated is kept: evo run --resume {})", error.what(), id));
  }
}

/// Renders one genome of a family: a malformed template throws here instead of in the middle of the search.
void try_family(const Space& space, const std::string& family, const Build& build) {
  if (space.size(family) == 0) return;
  Rng rng(0);
  build(space.sample(rng, family));
}

using Json = nlohmann::ordered_json;

std::string run_document(const RunSummary& summary) {
  Json json = json_document("run");
  json["run"] = run_json(summary.run);
  json["interrupted"] = summary.result.interrupted;
  json["exhausted"] = summary.result.exhausted;
  json["verdicts"] = Json::object();
  for (const auto& [verdict, count] : summary.verdicts) json["verdicts"][std::string(name_of(verdict))] = count;
  json["first_valid"] = summary.first_valid ? outcome_json(*summary.first_valid) : Json(nullptr);
  json["best"] = summary.best ? outcome_json(*summary.best) : Json(nullptr);
  json["improvement"] = or_null(summary.improvement());
  json["elites"] = elites_json(summary.elites);
  return json_text(json);
}

int exit_code_of(const SearchResult& result) {
  if (result.interrupted) return kInterrupted;
  return result.valid > 0 ? kDone : kNothingValid;
}

int run(const RunRequest& request, const std::string& command_line) {
  // From here on Ctrl-C ends cleanly.
  const InterruptGuard interrupt;

  // What to search: from the command line, or from the run that is resumed.
  PreparedRun run = request.resume.empty() ? prepare_new(request, command_line) : prepare_resumed(request);

  // The legal genomes, and what proposers may bring beside them.
  const Space space = make_space(run.info.files, run.task, run.device, run.info.target, run.info.family);
  const Bindings facts = facts_of(run.device.limits);
  ProposedTemplates templates(run.info.files, run.task, run.info.target, facts);
  // Candidates from genomes. What is wrong with a template, or missing for compiling, is found before
  // anything is written. Then how to walk them.
  const auto build = [&](const Genome& genome) {
    if (!templates.files_of(genome).empty()) return templates.build(genome);
    return make_candidate(run.info.files, run.task, space.family(genome.family), genome, run.info.target, facts);
  };
  for (const Family& family : space.families()) try_family(space, family.name, build);
  const auto binaries = std::make_shared<BinaryCache>();  // What is modelled first and then evaluated is compiled once.
  std::unique_ptr<LatencyPredictor> predictor;
  if (run.info.screen > 1 || run.presearch > 0)
    predictor = std::make_unique<CachedPredictor>(std::make_unique<CostModelPredictor>(
        run.task, run.info.target, run.device, build, binaries, interrupt.requested()));
  const SearchLimits limits = limits_of(run, interrupt.requested());
  const std::unique_ptr<ProposerProcess> proposer = make_proposer(request, run, space, limits);
  RecordedProposals recorded = recorded_proposals(request, run, templates);
  // While a search is presearched the device computes what candidates are compared with.
  const Evaluators evaluators = start_evaluator(run, finished_candidates(request, run, build), binaries);
  if (!run.resumed) run.info.seeds = opening_of(run, space, predictor.get(), request.quiet);
  if (interrupt.requested()) return kInterrupted;  // Nothing is written yet: there is nothing to go on with.
  const std::unique_ptr<Strategy> strategy =
      make_proposed(own_strategy(run, space, predictor.get()), space, proposer.get(), proposer_share(request),
                    templates, std::move(recorded));
  if (!run.resumed) run.info.nvrtc_version = make_nvrtc_compiler()->version();

  // The database.
  make_parent_folder(request.database);
  Store store = Store::open(request.database, Store::Mode::write);
  const RunId id = run.resumed ? *run.resumed : store.begin_run(run.info);
  if (run.resumed) store.reopen_run(id, run.info.evaluation_limit);
  announce(run, id, space, request);
  warn_unless_selftested(run, store);

  // The search.
  ProgressReport progress({.terminal = terminal_of(stderr),
                           .quiet = request.quiet,
                           .modelled = kind_named(run.device.kind).modelled,
                           .evaluations = run.info.evaluation_limit,
                           .time_limit = run.time_limit,
                           .recalled = run.recalled});
  const SearchResult result =
      search_recorded(id, store, *strategy, *evaluators.in_front, build, limits, progress, proposer.get(),
                      elite_judge(store, run.task, run.info.target, *evaluators.pipeline, run.device));

  // The report.
  const RunSummary summary = summarise(store, id, result);
  fmt::print("{}", request.json ? run_document(summary) : run_text(summary, request.database, terminal_of(stdout)));
  return exit_code_of(result);
}

/// "200 on a GPU, 40 on the virtual GPU"
std::string default_evaluations() {
  std::vector<std::string> defaults;
  for (const std::string_view name : kind_names()) {
    defaults.push_back(fmt::format("{} on {}", kind_named(name).evaluations, kind_named(name).title));
  }
  return fmt::format("{}", fmt::join(defaults, ", "));
}

}  // namespace

void add_run(CLI::App& app, Invocation& invocation) {
  auto request = std::make_shared<RunRequest>();
  CLI::App* command = app.add_subcommand("run", "Evolve kernels for a task; the three best are kept as elites");
  command->add_option("--task", request->task, "What to compute (evo tasks lists them)")->type_name("TASK");
  command
      ->add_option("--device", request->device,
                   "auto: the first CUDA GPU, else the virtual one; cuda:N; vgpu[:h200|h100|a100|l4|rtx4090]")
      ->type_name("DEVICE");
  command
      ->add_option("--shapes", request->shapes,
                   "Shapes to time, by name or by all their sizes: mission,long or 1,8,512,64,1,8,4096,64; "
                   "the latency of "
                   "several is the geometric mean")
      ->allow_extra_args(false)
      ->type_name("A,B");
  command
      ->add_option("--evals", request->evaluations,
                   fmt::format("Candidates to evaluate (default: {})", default_evaluations()))
      ->type_name("N");
  command->add_option("--time", request->time, "Stop after this long: 90s, 10m, 1h")->type_name("DURATION");
  command->add_option("--seed", request->seed, "Repeat the same search (default: random, and printed)")->type_name("S");
  command
      ->add_option("--strategy", request->strategy,
                   fmt::format("Among {} (default: evolve)", list_of(strategy_names())))
      ->type_name("NAME");
  command->add_option("--option", request->options, "An option of the task, as out=bf16; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  command
      ->add_option("--objective", request->objective,
                   "Which errors are allowed: an objective of the task (evo tasks lists them; default: the first)")
      ->type_name("NAME");
  command
      ->add_option("--seed-from", request->seed_from,
                   "Begin with the best of other shapes, devices, options, objectives or versions of the task: a "
                   "database, a run of "
                   "--db, an exported .cu, or results that evo export --format wrote; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FROM");
  command
      ->add_option(
          "--screen", request->screen,
          fmt::format(
              "Evaluate of every N proposals, at most {}, the one that the virtual GPU's cost model ranks first "
              "(default: 4 where evolve runs on a GPU that a virtual one is like, else 1)",
              kMostScreened))
      ->type_name("N");
  command
      ->add_option(
          "--rehearse", request->presearch,
          fmt::format("Search M genomes, at most {}, by the cost model alone first; the best of them open the run "
                      "(default: {}, or "
                      "twice --evals, where a screened evolve runs on a GPU that a virtual one is like; else 0)",
                      kMostPresearched, Presearch().genomes))
      ->type_name("M");
  command
      ->add_option(
          "--proposer", request->proposer,
          "A command that proposes genomes, alleles and kernels beside the strategy, in JSON lines (docs/proposer.md)")
      ->type_name("CMD");
  command->add_option("--proposer-share", request->proposer_share, "Of the evaluations at most, in percent")
      ->capture_default_str()
      ->type_name("P");
  command->add_option("--proposer-deadline", request->proposer_deadline, "For each of its answers")
      ->capture_default_str()
      ->type_name("DURATION");
  command->add_option("--family", request->family, "Search this family only")->type_name("NAME");
  command
      ->add_option("--resume", request->resume,
                   "Go on with this run (evo runs lists them) and its limits; --evals or --time set others")
      ->type_name("RUN");
  add_database_option(*command, request->database);
  add_templates_option(*command, request->templates);
  command->add_flag("--quiet", request->quiet, "No progress");
  add_json_flag(*command, request->json);
  command->callback([request, &invocation] {
    invocation.action = [request, &invocation] { return run(*request, invocation.command_line); };
  });
}

}  // namespace evo::cli
