#include "cli/commands/run.h"

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
#include <variant>

#include "cli/check/argument_check.h"
#include "cli/commands/commands.h"
#include "cli/llm/http_client.h"
#include "cli/report/floor_share.h"
#include "cli/report/lessons.h"
#include "cli/run/cost_model_predictor.h"
#include "cli/run/device_shares.h"
#include "cli/run/elite_comparison.h"
#include "cli/run/elite_profiles.h"
#include "cli/run/fixed_width_evaluator.h"
#include "cli/run/joining_hosts.h"
#include "cli/run/opening.h"
#include "cli/run/progress.h"
#include "cli/run/proposer_process.h"
#include "cli/run/run_setup.h"
#include "cli/run/run_summary.h"
#include "cli/run/slurm.h"
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
#include "cli/watch/watch_process.h"
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
#include "engine/search/surrogate_screening.h"
#include "engine/strategy/strategies.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/compile/nvrtc_compiler.h"
#include "evaluator/pipeline/binary_cache.h"
#include "evaluator/pipeline/pipeline.h"
#include "population/store/store.h"

namespace evo::cli {
namespace {

using MakeCandidate = std::function<Candidate(const Genome&)>;

/// What a resumed run has evaluated already: duplicates of these candidates are recognised, as in a run that was not
/// interrupted.
std::vector<Finished> finished_candidates(const RunRequest& request, const PreparedRun& run,
                                          const MakeCandidate& build) {
  if (!run.resumed) return {};
  const Store store = Store::open(request.database, Store::Mode::read);
  std::vector<Finished> finished;
  for (const OutcomeRow& outcome : store.outcomes(*run.resumed)) {
    CandidateRow row = find_candidate(store, outcome.candidate);
    finished.push_back({outcome.ticket, build(row.genome), std::move(row.evaluation)});
  }
  return finished;
}

/// Whose counters are read.
struct ProfileWish {
  std::uint64_t every = 0;  ///< N: of every Nth valid candidate; 0: of none.
  bool elites = false;      ///< Of the run's elites, once it has ended.
};

/// A language model is told what bounds the elites: modelled counters cost nothing, measured ones another run of the
/// kernel.
ProfileWish profile_wish(const RunRequest& request, const DeviceInfo& device) {
  const bool modelled = kind_named(device.kind).modelled;
  if (request.profile.empty() && !request.llm.model.empty()) return {.every = modelled ? 1U : 4U, .elites = !modelled};
  if (request.profile.empty()) return {.elites = !modelled};
  const std::uint64_t every = parse_number("--profile", request.profile);
  return {.every = every, .elites = every > 0};
}

/// Candidates of a screened search that are under way on each GPU. They are compiled when they are chosen, so few keep
/// the GPU busy; and what is proposed from fewer answers is worse (docs/studies/search.md).
constexpr std::size_t kScreenedWidth = 2;

/// Candidates under way, of a run that names no number. `most` keep the devices busy when each has to be compiled.
std::size_t width_of(const RunInfo& info, const DeviceInfo& device, std::size_t most) {
  if (info.screen <= 1 || kind_named(device.kind).on_host) return most;
  return std::min(most, kScreenedWidth * (1 + info.further_devices.size()));
}

/// The pipeline, and an evaluator in front of it that has the width with which the run was started.
struct Evaluators {
  DevicePipeline* pipeline = nullptr;
  std::unique_ptr<Evaluator> in_front;
};

PipelineOptions pipeline_options(const PreparedRun& run, std::shared_ptr<BinaryCache> binaries) {
  PipelineOptions options;
  options.binaries = std::move(binaries);
  options.task = run.task;
  options.tree = run.info.files;
  options.target = run.info.target;
  options.device = run.device;
  options.further_devices = run.further_devices;
  options.salt = run.info.salt;
  return options;
}

Evaluators start_evaluator(PreparedRun& run, std::vector<Finished> finished, std::shared_ptr<BinaryCache> binaries,
                           const ProfileWish& wish) {
  PipelineOptions options = pipeline_options(run, std::move(binaries));
  options.finished = std::move(finished);
  options.profile_every = wish.every;
  options.competing = true;
  options.notice = [](const std::string& line) { write_to_stderr(line + '\n'); };
  std::unique_ptr<DevicePipeline> pipeline = make_pipeline(std::move(options));
  if (run.info.width == 0) run.info.width = width_of(run.info, run.device, pipeline->width());
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
  limits.order = run.info.answers;
  limits.evaluations = run.info.evaluation_limit > 0 ? run.info.evaluation_limit : UINT64_MAX;
  limits.stop = &stop;
  limits.until_us = run.until_us;
  if (run.time_limit) {
    limits.out_of_time = [end = Clock::now() + *run.time_limit] { return Clock::now() >= end; };
  }
  return limits;
}

double share_in(const char* option, const std::string& text) {
  const std::uint64_t percent = parse_number(option, text, 1);
  if (percent > 100) throw usage_error(fmt::format("{}: expected a percentage from 1 to 100", option));
  return static_cast<double>(percent) / 100;
}

/// Of a language model at least a fifth, so that it can show when it has become better.
ProposerShare proposer_share(const RunRequest& request) {
  if (request.llm.model.empty()) return {share_in("--proposer-share", request.proposer_share)};
  const double most = share_in("--llm-share", request.llm_share);
  return {most, most / 5};
}

/// Everything about a proposer that can be wrong on the command line or on this machine.
void check_proposer(const RunRequest& request) {
  proposer_share(request);
  if (request.llm.model.empty()) return;
  if (!request.proposer.empty()) throw usage_error("--llm is a proposer of its own: give it or --proposer");
  llm_key(llm_options(request.llm));
  require_http_client();
}

std::unique_ptr<ProposerProcess> make_proposer(const RunRequest& request, const PreparedRun& run, RunId id,
                                               const Space& space, const ProposedTemplates& templates,
                                               const MakeCandidate& build, Store& store, const SearchLimits& limits) {
  if (request.proposer.empty() && request.llm.model.empty()) return nullptr;
  const auto deadline = parse_duration("--proposer-deadline", request.proposer_deadline);
  ProposerOptions options{.command = request.proposer, .deadline_s = std::chrono::duration<double>(deadline).count()};
  if (!request.llm.model.empty()) options.evo = llm_arguments(request.llm);
  options.ends = [limits] { return limits.stop->load() || (limits.out_of_time && limits.out_of_time()); };
  options.spent = store.exchange_sums(id);
  ProposerBriefing briefing{.rates = rates_of(run.info.device),
                            .lessons = lesson_lines(lessons_of(store, run.info, id, space)),
                            .build = build};
  ProposerMessages messages(run.task, run.info.target, space, run.device, run.info.files, std::move(briefing));
  auto proposer =
      std::make_unique<ProposerProcess>(std::move(options), run.task.name, space, templates, std::move(messages));
  proposer->keep_exchanges(
      [&store, id](const ExchangeRecord& exchange) { return store.record_exchange(id, exchange); });
  return proposer;
}

/// A proposer would not give the same answers again. A resumed run takes its answers, and the templates in them, from
/// the database.
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

/// Whether the run began with genomes of a pre-search. Its seeds say so, also when it is resumed.
bool presearches(const RunInfo& info) {
  return std::ranges::any_of(info.seeds, [](const Seed& seed) { return seed.origin == kPresearched; });
}

/// Measurements that are begun while a prediction is under way: a model takes as long as about so many. Of several
/// devices each has fewer, because a search that knows fewer answers finds less.
constexpr std::size_t kAhead = 6, kAheadOfEach = 4;

/// Devices whose number may decide what is proposed: those of runs that take answers as they come.
std::size_t devices_at_once(const RunInfo& info) {
  return info.answers == AnswerOrder::finished ? 1 + info.further_devices.size() : 1;
}

std::size_t ahead_of(const RunInfo& info) {
  return std::max(kAhead, kAheadOfEach * devices_at_once(info));
}

/// The strategy that the user chose, guided by the cost model. `late` may be null.
std::unique_ptr<Strategy> guided_strategy(const PreparedRun& run, const Space& space, LatencyPredictor* predictor,
                                          LatePredictions* late) {
  return make_guided(
      run.info.strategy, space, run.info.seed, predictor,
      {.screen = run.info.screen, .presearches = presearches(run.info), .ahead = ahead_of(run.info), .late = late},
      run.info.seeds);
}

/// Warns, in one line, when no self-test has shown that this device kind detects wrong kernels of the task.
void warn_unless_selftested(const PreparedRun& run, const Store& store) {
  if (run.resumed) return;
  const std::string warning = selftest_warning(store, run.templates, run.task, run.device);
  if (!warning.empty()) write_to_stderr(fmt::format("warning: {}\n", warning));
}

/// "cuda:0", "cuda:0, cuda:1"
std::string devices_text(const PreparedRun& run) {
  std::string text = called(run.device);
  for (const DeviceInfo& further : run.further_devices) text += ", " + called(further);
  return text;
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
  const std::string continued = run.resumed ? fmt::format(" continues after {} evaluations", run.recalled) : "";
  write_to_stderr(fmt::format("run {}{}: {} on {} ({}), timed on {}, {} of {} legal genomes, {}, seed {}\n", id,
                              continued, info.task, devices_text(run), run.device.name, fmt::join(timed, ","),
                              info.evaluation_limit > 0 ? grouped(info.evaluation_limit) : "as many as the time allows",
                              grouped(space.size()), strategy_text(info), info.seed));
  if (!info.seeds.empty() && !run.resumed) write_to_stderr(fmt::format("seeded with {}\n", seeds_text(info.seeds)));
}

/// Runs the search. However it ends, the run's row in the database says how, and every recorded evaluation is kept.
SearchResult search_recorded(RunId id, Store& store, Strategy& strategy, Evaluator& evaluator,
                             const MakeCandidate& build, const SearchLimits& limits, ProgressReport& progress,
                             ProposerProcess* proposer, EliteComparer compare, RunClock& clock) {
  const std::unique_ptr<Archive> archive = store.archive(id, std::move(compare));
  const std::unique_ptr<Archive> recording = clock.measured(*archive);
  const std::unique_ptr<Strategy> asking = clock.measured(strategy);
  try {
    TimingDisturbances watch;
    const SearchResult result = search(*asking, evaluator, *recording, build, limits, [&](const SearchProgress& now) {
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
    // The first error is the one to report. A run that is not marked as failed can be resumed, too.
    const auto try_to = [](const auto& what) {
      try {
        what();
      } catch (const Error&) {
      }
    };
    try_to([&] { archive->settle(); });
    try_to([&] { store.finish_run(id, RunStatus::failed); });
    if (error.fault() == Fault::usage) throw;
    throw machine_error(
        fmt::format("{} (the evaluations so far are kept; continue with: evo run --resume {})", error.what(), id));
  }
}

/// Renders one genome of a family, so that a malformed template throws before the search begins.
void try_family(const Space& space, const std::string& family, const MakeCandidate& build) {
  if (space.size(family) == 0) return;
  Rng rng(0);
  build(space.sample(rng, family));
}

/// Refuses launches whose arguments are not those that a kernel takes: without a reference nothing else would show it.
void refuse_wrong_arguments(const ShortForm& form, const Space& space, const PreparedRun& run,
                            const MakeCandidate& build) {
  const std::unique_ptr<Compiler> compiler = make_nvrtc_compiler();
  for (const Family& family : space.families()) {
    if (space.size(family.name) == 0) continue;
    Rng rng(0);
    const Program program = build(space.sample(rng, family.name)).programs.front();
    const auto compiled = compiler->compile(program, run.device.arch);
    const auto* binary = std::get_if<Binary>(&compiled);
    if (binary == nullptr) continue;  // Others may compile.
    std::vector<std::string> wrong = wrong_arguments(*binary, program.plans.begin()->second, family);
    for (std::string& line : wrong) line = form.in_authors_places(line);
    if (!wrong.empty()) throw usage_error(fmt::format("{}", fmt::join(wrong, "; ")));
  }
}

using Json = nlohmann::ordered_json;

Json hosts_json(const std::vector<HostShare>& shares) {
  Json json = Json::array();
  for (const HostShare& share : shares) json.push_back({{"host", share.host}, {"programs", share.programs}});
  return json;
}

Json shares_json(const DeviceShares& shares) {
  Json json = Json::array();
  for (const DeviceShare& share : shares.devices) {
    const auto& ratio = share.ratio;
    json.push_back({{"device", share.place.device},
                    {"uuid", share.place.uuid},
                    {"host", share.place.host},
                    {"evaluated", share.evaluated},
                    {"machine_failed", share.machine_failed},
                    {"ratio", ratio ? Json({{"mean", ratio->ratio}, {"low", ratio->low}, {"high", ratio->high}})
                                    : Json(nullptr)}});
  }
  return json;
}

std::string run_document(const RunSummary& summary) {
  Json json = json_document("run");
  json["run"] = run_json(summary.run);
  json["self_consistent"] = summary.self_consistent;
  json["interrupted"] = summary.result.interrupted;
  json["exhausted"] = summary.result.exhausted;
  json["reached"] = summary.result.reached;
  json["verdicts"] = Json::object();
  for (const auto& [verdict, count] : summary.verdicts) json["verdicts"][std::string(name_of(verdict))] = count;
  json["first_valid"] = summary.first_valid ? outcome_json(*summary.first_valid) : Json(nullptr);
  json["best"] = summary.best ? outcome_json(*summary.best) : Json(nullptr);
  json["improvement"] = or_null(summary.improvement());
  json["rejections"] = rejections_json(summary.rejections);
  json["elites"] = elites_json(summary.elites);
  json["seeds"] = seeds_json(summary.seeds);
  json["exchanges"] = exchanges_json(summary.exchanges);
  json["devices"] = shares_json(summary.devices);
  json["modelled"] = hosts_json(summary.modelled);
  json["compiled"] = hosts_json(summary.compiled);
  json["times"] = times_json(summary.times);
  return json_text(json);
}

int exit_code_of(const SearchResult& result) {
  if (result.interrupted) return kInterrupted;
  return result.valid > 0 ? kDone : kNothingValid;
}

/// "200 on a GPU, 40 on the virtual GPU"
std::string default_evaluations() {
  std::vector<std::string> defaults;
  for (const std::string_view name : kind_names()) {
    defaults.push_back(fmt::format("{} on {}", kind_named(name).evaluations, kind_named(name).title));
  }
  return fmt::format("{}", fmt::join(defaults, ", "));
}

/// Options of one command in groups of its help, as far as it has them.
void group_options(CLI::App& command, const char* title, const std::vector<const char*>& options) {
  for (const char* option : options)
    if (CLI::Option* found = command.get_option_no_throw(option)) found->group(title);
}

}  // namespace

int run(const RunRequest& request, const std::string& command_line) {
  if (!request.slurm.empty()) run_in_allocation(request.slurm);
  check_proposer(request);
  // From here on Ctrl-C ends the run cleanly.
  const InterruptGuard interrupt;

  // What to search: from the command line, or from the run that is resumed.
  PreparedRun run = request.resume.empty() ? prepare_new(request, command_line) : prepare_resumed(request);

  // Who watches it. A port that is taken is found before anything is written.
  std::optional<WatchProcess> watched;
  if (request.watch) watched.emplace(request.database, *request.watch);

  // The legal genomes, and the templates that a proposer may add.
  for (const std::string& skipped : run.info.target.skipped) write_to_stderr("not validated: " + skipped + '\n');
  const Space space = make_space(run.info.files, run.task, run.device, run.info.target, run.info.family);
  const Bindings facts = facts_of(run.device.limits);
  ProposedTemplates templates(run.info.files, run.task, run.info.target, facts);
  // How a genome becomes a candidate. A template that cannot be rendered is found here, before anything is written.
  const auto build = [&](const Genome& genome) {
    if (!templates.files_of(genome).empty()) return templates.build(genome);
    return make_candidate(run.info.files, run.task, space.family(genome.family), genome, run.info.target, facts);
  };
  for (const Family& family : space.families()) try_family(space, family.name, build);
  if (request.form) refuse_wrong_arguments(*request.form, space, run, build);
  // Candidates that are modelled and then evaluated are compiled once.
  const auto binaries = std::make_shared<BinaryCache>();
  std::unique_ptr<LatencyPredictor> predictor;
  ModelPool* models = nullptr;
  if (is_guided(run)) {
    auto by_cost_model = std::make_unique<CostModelPredictor>(run.task, run.info.target, run.device, build, binaries,
                                                              interrupt.requested());
    models = &by_cost_model->pool();
    for (const OtherHost& host : run.other_hosts) models->join(host);
    predictor = std::make_unique<CachedPredictor>(std::move(by_cost_model));
  }
  const SearchLimits limits = limits_of(run, interrupt.requested());
  RecordedProposals recorded = recorded_proposals(request, run, templates);
  // The pipeline computes reference outputs while the pre-search runs.
  const ProfileWish profiled = profile_wish(request, run.device);
  Evaluators evaluators = start_evaluator(run, finished_candidates(request, run, build), binaries, profiled);
  if (models == nullptr) {
    for (const OtherHost& host : run.other_hosts) evaluators.pipeline->compile_on(host);
  }
  if (!run.resumed) run.info.seeds = opening_seeds(run, space, predictor.get(), request.quiet);
  if (interrupt.requested()) return kInterrupted;  // Nothing is written yet, so there is no run to resume.
  if (!run.resumed) run.info.nvrtc_version = make_nvrtc_compiler()->version();

  // The database.
  make_parent_folder(request.database);
  Store store = Store::open(request.database, Store::Mode::write);
  const RunId id = run.resumed ? *run.resumed : store.begin_run(run.info);
  if (run.resumed) store.reopen_run(id, run.info.evaluation_limit);
  const std::unique_ptr<ProposerProcess> proposer =
      make_proposer(request, run, id, space, templates, build, store, limits);
  // Where latencies are modelled the same seed gives the same run, however long models take. A proposer's genomes shift
  // the tickets by which a resumed run would know its choices.
  const bool proposed = proposer != nullptr || !recorded.genomes.empty();
  const bool may_be_late = predictor != nullptr && !kind_named(run.device.kind).modelled && !proposed;
  const std::unique_ptr<LatePredictions> late = may_be_late ? store.late_predictions(id) : nullptr;
  const std::unique_ptr<Strategy> strategy =
      make_proposed(guided_strategy(run, space, predictor.get(), late.get()), space, proposer.get(),
                    proposer_share(request), templates, std::move(recorded));
  announce(run, id, space, request);
  if (watched) {
    watched->show(id);
    write_to_stderr(fmt::format("watch it: {}\n", watched->address()));
  }
  warn_unless_selftested(run, store);

  // The search.
  const auto placed = [&](const std::string& message) {
    return request.form ? request.form->in_authors_places(message) : message;
  };
  ProgressReport progress({.terminal = terminal_of(stderr),
                           .quiet = request.quiet,
                           .lines = request.progress,
                           .modelled = kind_named(run.device.kind).modelled,
                           .evaluations = run.info.evaluation_limit,
                           .time_limit = run.time_limit,
                           .recalled = run.recalled,
                           .placed = placed});
  RunClock clock(*evaluators.pipeline);
  std::optional<JoiningHosts> joining(std::in_place, request, run, *evaluators.pipeline, models);
  const SearchResult result =
      search_recorded(id, store, *strategy, *evaluators.in_front, build, limits, progress, proposer.get(),
                      elite_comparer(store, run.task, run.info.target, *evaluators.pipeline, run.device), clock);
  const RunTimes times = clock.times();

  joining.reset();

  // What its devices did and how they differ. Then the counters of what it found: nothing else runs on the device.
  const DeviceShares shares = device_shares(store, id, run, result.interrupted ? nullptr : evaluators.pipeline);
  const std::vector<HostShare> compiled =
      models == nullptr ? evaluators.pipeline->compiled() : std::vector<HostShare>{};
  evaluators.in_front.reset();
  if (profiled.elites && !result.interrupted) profile_elites(store, id, pipeline_options(run, binaries), build);

  // The report.
  RunSummary summary = summarise(store, id, result, placed);
  summary.devices = shares;
  summary.times = times;
  if (models != nullptr) summary.modelled = models->shares();
  summary.compiled = compiled;
  fmt::print("{}", request.json ? run_document(summary) : run_text(summary, request.database, terminal_of(stdout)));
  return exit_code_of(result);
}

void add_search_options(CLI::App& command, RunRequest& request) {
  command
      .add_option("--device", request.device,
                  "auto (the first CUDA GPU, else a virtual one), cuda:N, or vgpu[:h200|h100|a100|l4|rtx4090]")
      ->type_name("DEVICE");
  command
      .add_option("--devices", request.devices,
                  "Several devices of one model instead: cuda:0,cuda:1, cuda:all, vgpu:h200,vgpu:h200. A free one "
                  "evaluates each candidate (docs/scale.md)")
      ->type_name("DEVICE,...");
  command
      .add_option(
          "--workers", request.workers,
          "Another host: a command that runs its arguments there, such as 'ssh node7' or 'srun -N1 -n1 --overlap -w "
          "node7'; `here` is this host, `slurm` are the nodes of this Slurm allocation; may be repeated. --devices "
          "names the devices of each; a host without them only models or compiles (docs/scale.md)")
      ->allow_extra_args(false)
      ->type_name("PREFIX");
  command
      .add_option("--hosts", request.hosts,
                  "A file with such a PREFIX in each line; hosts of lines added later join the run")
      ->type_name("FILE");
  command
      .add_option("--slurm", request.slurm,
                  "Get an allocation from Slurm with these options of salloc, such as '-N2 --gpus-per-node=8 -t "
                  "2:00:00', and run on all of its nodes; it ends with the run")
      ->type_name("OPTIONS");
  command
      .add_option("--in-flight", request.in_flight,
                  fmt::format("Candidates under way at once, at most {}. A modelled search repeats with the same "
                              "number, on any devices (default: 4 on virtual GPUs, 2 for each GPU of a screened "
                              "search, else as many as keep GPUs busy)",
                              kMostInFlight))
      ->type_name("N");
  command
      .add_option("--answers", request.answers,
                  "In which order the strategy gets results. asked: reproducible if latencies are. finished: does not "
                  "wait for the slowest. (default: finished on several GPUs, else asked)")
      ->type_name("asked|finished");
  command
      .add_option("--shapes", request.shapes,
                  "Shapes to time, by name (mission,long) or by all their sizes (1,8,512,64); with several shapes the "
                  "latency is the geometric mean")
      ->allow_extra_args(false)
      ->type_name("A,B");
  command
      .add_option("--evals", request.evaluations,
                  fmt::format("Stop after N candidates (default: {})", default_evaluations()))
      ->type_name("N");
  command.add_option("--time", request.time, "Stop after this time: 90s, 10m, 1h")->type_name("DURATION");
  command.add_option("--until", request.until, "Stop once a candidate is this fast: 20us, 1.5ms")->type_name("LATENCY");
  command
      .add_option("--seed", request.seed,
                  "Seed of the search: the same seed repeats it (default: random; it is printed)")
      ->type_name("S");
  command.add_option("--strategy", request.strategy, "What proposes the genomes (default: evolve)")
      ->type_name(fmt::format("{}", fmt::join(strategy_names(), "|")));
  command.add_option("--option", request.options, "An option of the task, such as out=bf16; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  command
      .add_option("--objective", request.objective,
                  "Objective of the task: how large its errors may be (evo tasks lists them; default: the first)")
      ->type_name("NAME");
  command
      .add_option("--seed-from", request.seed_from,
                  "Warm start: begin with the best genomes of other runs of this task. FROM is a database, the number "
                  "of a run in --db, an exported .cu file, or results of evo export --format; may be repeated")
      ->allow_extra_args(false)
      ->type_name("FROM");
  command
      .add_option(
          "--screen", request.screen,
          fmt::format("Surrogate screening: evaluate only one of every N proposals (at most {}), the fastest by the "
                      "virtual GPU's cost model (default: {} for evolve on a GPU that has a virtual model, else 1)",
                      kMostScreened, ScreeningOptions().among))
      ->type_name("N");
  command
      .add_option(
          "--presearch", request.presearch,
          fmt::format("Model-only pre-search: first search M genomes (at most {}) with the cost model alone and begin "
                      "with the best (default: {}, at most twice --evals, where proposals are screened by default; "
                      "else 0)",
                      kMostPresearched, Presearch().genomes))
      ->type_name("M");
  add_former_name(command, "--rehearse", "--presearch", request.presearch);
  command
      .add_option("--proposer", request.proposer,
                  "A command that proposes genomes, alleles and kernels as JSON lines, in addition to the strategy "
                  "(docs/proposer.md)")
      ->type_name("CMD");
  command
      .add_option("--proposer-share", request.proposer_share,
                  "The proposer's largest share of the evaluations, in percent")
      ->capture_default_str()
      ->type_name("P");
  command.add_option("--proposer-deadline", request.proposer_deadline, "Time limit of the proposer's answer")
      ->capture_default_str()
      ->type_name("DURATION");
  add_llm_options(command, request.llm);
  command
      .add_option("--llm-share", request.llm_share,
                  "The language model's largest share of the evaluations, in percent. Its success decides between a "
                  "fifth of that and all of it")
      ->capture_default_str()
      ->type_name("P");
  command
      .add_option("--profile", request.profile,
                  "Read the hardware counters of every N-th valid candidate and of the run's elites (default: only the "
                  "elites, on a GPU; with --llm also every fourth candidate, or all on a virtual GPU; 0: none)")
      ->type_name("N");
  add_database_option(command, request.database);
  command
      .add_option("--watch", request.watch,
                  "Serve the live page of evo report to browsers of this machine while the run goes on, and print its "
                  "address (docs/watch.md; default: a free port)")
      ->expected(0, 1)
      ->type_name("[PORT]");
  CLI::Option* quiet = command.add_flag("--quiet", request.quiet, "Print no progress");
  command
      .add_flag("--progress", request.progress,
                "Print progress as lines, also if standard error is not a terminal: for a log")
      ->excludes(quiet);
  add_json_flag(command, request.json);
  group_options(command, "Problem",
                {"--device", "--devices", "--workers", "--hosts", "--slurm", "--shapes", "--option", "--objective"});
  group_options(command, "Limits", {"--evals", "--time", "--until", "--in-flight"});
  group_options(command, "Search",
                {"--strategy", "--answers", "--seed", "--seed-from", "--screen", "--presearch", "--proposer",
                 "--proposer-share", "--proposer-deadline", "--profile"});
  group_options(command, "Language model", llm_option_names());
  group_options(command, "Language model", {"--llm-share"});
  group_options(command, "Output", {"--db", "--watch", "--quiet", "--progress", "--json"});
}

void add_run(CLI::App& app, Invocation& invocation) {
  auto request = std::make_shared<RunRequest>();
  CLI::App* command = app.add_subcommand("run", "Search for fast kernels of a task; the three best become its elites");
  command->add_option("--task", request->task, "The task (evo tasks lists them)")->type_name("TASK");
  add_search_options(*command, *request);
  command->add_option("--family", request->family, "Search only this family")->type_name("NAME");
  command
      ->add_option("--resume", request->resume,
                   "Continue this run (evo runs lists them) with its settings; --evals or --time set new limits")
      ->type_name("RUN");
  add_templates_option(*command, request->templates);
  group_options(*command, "Problem", {"--task", "--family", "--templates"});
  group_options(*command, "Limits", {"--resume"});
  command->callback([request, &invocation] {
    invocation.action = [request, &invocation] { return run(*request, invocation.command_line); };
  });
}

}  // namespace evo::cli
