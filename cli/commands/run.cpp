#include "cli/commands/run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <variant>

#include "cli/check/argument_check.h"
#include "cli/check/feasible_shapes.h"
#include "cli/commands/commands.h"
#include "cli/edits/unproven_edits.h"
#include "cli/proposer/proposer_setup.h"
#include "cli/report/floor_share.h"
#include "cli/report/lessons.h"
#include "cli/report/until.h"
#include "cli/run/device_shares.h"
#include "cli/run/elite_checks.h"
#include "cli/run/elite_comparison.h"
#include "cli/run/elite_profiles.h"
#include "cli/run/joining_hosts.h"
#include "cli/run/last_checks.h"
#include "cli/run/opening.h"
#include "cli/run/progress.h"
#include "cli/run/run_setup.h"
#include "cli/run/run_summary.h"
#include "cli/run/run_workers.h"
#include "cli/run/slurm.h"
#include "cli/run/timing_disturbances.h"
#include "cli/run/warm_start.h"
#include "cli/selftest/selftest_record.h"
#include "cli/sources/shadowing.h"
#include "cli/text/signals.h"
#include "cli/text/waiting_line.h"
#include "cli/watch/watch_process.h"
#include "engine/base/rng.h"
#include "engine/device/device_kind.h"
#include "engine/search/guided_strategy.h"
#include "engine/search/presearch.h"
#include "engine/search/proposer.h"
#include "engine/search/search.h"
#include "engine/search/seeds.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/hosts/devices.h"
#include "population/store/store.h"

namespace evo::cli {
namespace {

/// Renders one genome of a family, so that a malformed template throws before the search begins.
void try_family(const Space& space, const std::string& family, const MakeCandidate& build) {
  if (space.size(family) == 0) return;
  Rng rng(0);
  build(space.sample(rng, family));
}

/// The legal genomes of a run, and how one becomes a candidate.
class SearchSubject {
 public:
  /// A template that cannot be rendered is found here, before anything is written.
  explicit SearchSubject(const PreparedRun& run)
      : space(make_space(run.info.files, run.task, run.device, run.info.target, run.info.family)),
        facts_(facts_of(run.device.limits)),
        templates(run.info.files, run.task, run.info.target, facts_),
        build([&](const Genome& genome) {
          if (!templates.files_of(genome).empty()) return templates.build(genome);
          return make_candidate(run.info.files, run.task, space.family(genome.family), genome, run.info.target, facts_);
        }) {
    for (const Family& family : space.families()) try_family(space, family.name, build);
  }
  SearchSubject(const SearchSubject&) = delete;
  SearchSubject& operator=(const SearchSubject&) = delete;

  const Space space;

 private:
  const Bindings facts_;

 public:
  ProposedTemplates templates;  ///< Those that a proposer may add.
  const MakeCandidate build;
};

/// Refuses launches whose arguments are not those that a kernel takes: without a reference nothing else would show it.
void refuse_wrong_arguments(const ShortForm& form, const Space& space, const PreparedRun& run,
                            const MakeCandidate& build) {
  const std::unique_ptr<Compiler> compiler = open_compiler(run.device.kind);
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

SearchLimits limits_of(const RunRequest& request, const PreparedRun& run, const std::atomic<bool>& stop,
                       const RunTime& time) {
  SearchLimits limits;
  limits.until_us = run.info.until_us;
  limits.settles = run.info.settles;
  limits.settled_until = run.info.settled_until;
  limits.order = run.info.answers;
  limits.evaluations = run.info.evaluation_limit.value_or(UINT64_MAX);
  if (!request.proposals.empty() && request.evaluations.empty()) limits.evaluations = UINT64_MAX;  // All of the file.
  limits.stop = &stop;
  limits.out_of_time = [&time] { return time.is_over(); };
  return limits;
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
  return make_guided(run.info.strategy, space, run.info.seed, predictor,
                     {.screen = run.info.screen,
                      .presearches = presearches(run.info),
                      .ahead = ahead_of(run.info),
                      .front = run.info.keeps_front,
                      .late = late},
                     run.info.seeds);
}

/// Empty: none was named.
std::optional<std::chrono::milliseconds> check_time_of(const RunRequest& request) {
  if (request.check_time.empty()) return std::nullopt;
  if (request.check_time == "0") return std::chrono::milliseconds(0);
  return parse_duration("--check-time", request.check_time);
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

/// Listed shapes that the run does not validate: how many, or each with the reason.
void tell_not_validated(const std::vector<std::string>& skipped, bool verbose) {
  if (verbose)
    for (const std::string& shape : skipped) write_to_stderr("not validated: " + shape + '\n');
  else if (!skipped.empty())
    write_to_stderr(
        fmt::format("{} not validated here (--verbose says why)\n",
                    skipped.size() == 1 ? "1 listed shape is" : fmt::format("{} listed shapes are", skipped.size())));
}

/// "200"; "as many as 5m allow, or until more are unlikely to bring 1 %"
std::string how_many(const PreparedRun& run, const Space& space) {
  if (run.info.evaluation_limit) return grouped(std::min<std::uint64_t>(*run.info.evaluation_limit, space.size()));
  if (!run.time_limit) return "all";
  return fmt::format("as many as {} allow{}", duration_text(std::chrono::duration<double>(*run.time_limit).count()),
                     run.info.settles ? ", or until more are unlikely to bring 1 %," : "");
}

void announce(const PreparedRun& run, RunId id, const Space& space, const RunRequest& request) {
  if (const std::string remark = shadowing_remark(run.task.name, run.task.hash); !remark.empty())
    tell(fmt::format("{}: {}", run.task.name, remark));
  if (!run.notice.empty()) tell(run.notice);
  if (request.quiet) return;
  const RunInfo& info = run.info;
  std::vector<std::string> timed;
  for (const Shape& shape : info.target.timed) timed.push_back(shape.name);
  const std::string continued = run.resumed ? fmt::format(" continues after {} evaluations", run.recalled) : "";
  const std::string what = request.proposals.empty() ? fmt::format("{} of {} legal genomes, {}", how_many(run, space),
                                                                   grouped(space.size()), strategy_text(info))
                                                     : "the proposals of " + request.proposals;
  write_to_stderr(fmt::format("run {}{}: {} on {} ({}), timed on {}, {}, seed {}\n", id, continued, info.task,
                              devices_text(run), run.device.name, fmt::join(timed, ","), what, info.seed));
  tell_not_validated(info.target.skipped, request.verbose);
  if (!info.seeds.empty() && !run.resumed) write_to_stderr(fmt::format("seeded with {}\n", seeds_text(info.seeds)));
}

/// Where latencies are modelled the same seed gives the same run, however long models take. A proposer's genomes shift
/// the tickets by which a resumed run would know its choices.
bool may_be_late(const PreparedRun& run, bool proposed) {
  return !kind_named(run.device.kind).modelled && !proposed;
}

/// What a search works with.
struct SearchParts {
  const RunRequest& request;
  const PreparedRun& run;
  const MakeCandidate& build;
  const RunModel& model;
  RunPipeline& evaluators;
  const SearchLimits& limits;
  const std::shared_ptr<BinaryCache>& binaries;
  const ProfileWish& profiled;
  Store& store;
  RunId id;
  Strategy& strategy;
  ProposerProcess* proposer;
  EditProposer* edits;
  const RunTime& time;
};

/// The elites of the run's task, as it is, on its device.
EliteFilter board_of(const PreparedRun& run) {
  return {.task = run.info.task, .device = run.device.id, .objective = {}, .task_hash = run.task.hash};
}

/// With those of the front, if it keeps one.
std::size_t provisional_elites(const SearchParts& with) {
  const EliteFilter filter = board_of(with.run);
  std::set<CandidateId> provisional;
  const auto add = [&](const std::vector<EliteRow>& elites) {
    for (const EliteRow& elite : elites)
      if (is_provisional(elite.checks)) provisional.insert(elite.candidate);
  };
  add(with.store.elites(filter));
  if (with.run.info.keeps_front) add(with.store.front(filter));
  return provisional.size();
}

ProgressReport::Settings progress_settings(const SearchParts& with,
                                           std::function<std::string(const std::string&)> placed) {
  return {.terminal = terminal_of(stderr),
          .quiet = with.request.quiet,
          .lines = with.request.progress,
          .modelled = kind_named(with.run.device.kind).modelled,
          .evaluations = with.request.proposals.empty() ? with.run.info.evaluation_limit.value_or(0) : 0,
          .time_limit = with.run.time_limit,
          .recalled = with.run.recalled,
          .placed = std::move(placed)};
}

/// Runs the search. However it ends, the run's row in the database says how, and every recorded evaluation is kept.
SearchResult search_recorded(const SearchParts& with, const EliteComparer& compare, ProgressReport& progress,
                             RunClock& clock) {
  EliteCheckRunner checks(with.run, with.binaries, *with.evaluators.pipeline);
  EliteChecks further = checks.checks(with.store, *with.limits.stop, [&](const std::string& line) {
    progress.say(with.request.form ? with.request.form->in_authors_places(line) : line);
  });
  if (with.request.quiet) further.notice = [](const std::string&) {};
  if (with.time.checks_nothing()) further.start = {};
  SearchLimits limits = with.limits;
  limits.out_of_time = further.out_of_time = [&] {
    return with.time.is_over_for_search([&] { return provisional_elites(with); }, checks.longest());
  };
  const std::unique_ptr<Archive> archive = with.store.archive(with.id, compare, std::move(further));
  const LastChecks last{checks, progress, [&] { return provisional_elites(with); }, with.time};
  const std::unique_ptr<Archive> bounded = last.bounding(*archive);
  const std::unique_ptr<Archive> recording = clock.measured(*bounded);
  const std::unique_ptr<Strategy> asking = clock.measured(with.strategy);
  try {
    TimingDisturbances watch;
    const auto tell = [&](const SearchProgress& now) {
      progress.update(now);
      if (now.last_evaluation == nullptr || now.last == nullptr) return;
      if (with.proposer) with.proposer->observe(*now.last, *now.last_evaluation);
      if (with.edits) with.edits->observe(*now.last, *now.last_evaluation);
      const std::string name = fmt::format("proposal {}", now.last->ticket);
      for (const std::string& line : watch.notice(name, *now.last_evaluation)) progress.say(line);
    };
    const SearchResult result = search(*asking, *with.evaluators.in_front, *recording, with.build, limits, tell);
    progress.finish();
    with.store.finish_run(with.id, result.interrupted ? RunStatus::interrupted : RunStatus::finished);
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
    try_to([&] { with.store.finish_run(with.id, RunStatus::failed); });
    if (error.fault() == Fault::usage) throw;
    throw machine_error(fmt::format("{} (the evaluations so far are kept; continue with: evo run --resume {}{})",
                                    error.what(), with.id, database_argument(with.request.database)));
  }
}

RunSummary search_and_summarise(const SearchParts& with) {
  const PreparedRun& run = with.run;
  DevicePipeline& pipeline = *with.evaluators.pipeline;
  const auto placed = [&](const std::string& message) {
    return with.request.form ? with.request.form->in_authors_places(message) : message;
  };
  ProgressReport progress(progress_settings(with, placed));
  RunClock clock(pipeline);
  std::optional<JoiningHosts> joining(std::in_place, with.request, run, pipeline, with.model.pool);
  const EliteComparer compare =
      elite_comparer(with.store, run.task, run.info.target, pipeline, run.device, *with.limits.stop);
  const SearchResult result = search_recorded(with, compare, progress, clock);
  const RunTimes times = clock.times();
  joining.reset();
  if (!result.interrupted)
    if (const std::size_t dropped = drop_unproven_edits(with.store, with.id, board_of(run), run.info.keeps_front))
      progress.note(fmt::format("{} made by edits, so no elite: there was no time for the checks (--check-time)",
                                dropped == 1 ? "1 kernel was" : fmt::format("{} kernels were", dropped)));
  const EliteComparer by_latency;
  EditCounts edits =
      edit_counts(with.store, with.store.outcomes(with.id), as_fast_by(result.interrupted ? by_latency : compare));

  // What its devices did and how they differ. Then the counters of what it found: nothing else runs on the device.
  DeviceShares shares = device_shares(with.store, with.id, run, result.interrupted ? nullptr : &pipeline);
  std::vector<HostShare> compiled;
  if (with.model.pool == nullptr) compiled = pipeline.compiled();
  with.evaluators.in_front.reset();
  if (with.profiled.elites && !result.interrupted)
    profile_elites(with.store, with.id, pipeline_options(run, with.binaries), with.build);

  RunSummary summary = summarise(with.store, with.id, result, placed);
  if (!with.request.proposals.empty()) {
    summary.proposed = proposed_outcomes(with.store, with.id, run.recalled);
    summary.result.exhausted = false;  // The file is, not the space.
  }
  if (with.proposer != nullptr) summary.refused = with.proposer->refusals();
  summary.edits = std::move(edits);
  summary.devices = std::move(shares);
  summary.times = times;
  if (with.model.pool != nullptr) summary.modelled = with.model.pool->shares();
  summary.compiled = std::move(compiled);
  return summary;
}

std::unique_ptr<ProposerProcess> start_proposer(const RunRequest& request, const PreparedRun& run, RunId id,
                                                const SearchSubject& subject, Store& store,
                                                const SearchLimits& limits) {
  if (!request.has_proposer()) return nullptr;
  const std::optional<DeviceInfo> rates = rates_of(run.info.device);
  ProposerBriefing briefing{.rates = rates,
                            .lessons = lesson_lines(lessons_of(store, run.info, id, subject.space)),
                            .build = subject.build,
                            .line_shares = line_shares_of(run.task, run.info.target, rates)};
  return make_proposer(request, run, id, subject.space, subject.templates, std::move(briefing), store, limits);
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

Store made_store(const std::string& database) {
  make_parent_folder(database);
  return Store::open(database, Store::Mode::write);
}

/// The run's row in the database.
RunId begin_or_reopen(Store& store, const PreparedRun& run) {
  if (!run.resumed) return store.begin_run(run.info);
  const RunInfo& info = run.info;
  store.reopen_run(*run.resumed, info.evaluation_limit,
                   info.settles ? std::nullopt : std::optional(info.settled_until));
  return *run.resumed;
}

/// One line for each refused proposal of --proposals: nobody else is told.
void tell_refusals(const RunRequest& request, const RunSummary& summary) {
  if (request.proposals.empty()) return;
  for (const std::string& refusal : summary.refused)
    write_to_stderr(fmt::format("refused: {}\n", one_line(clipped(refusal, 1000, "..."))));
}

PreparedRun feasible_run(const RunRequest& request, const std::string& command_line) {
  PreparedRun run = request.resume.empty() ? prepare_new(request, command_line) : prepare_resumed(request);
  require_feasible(run.task, run.info.target, run.device.kind);
  if (!run.resumed) run.info.until_us = latency_of_until(run.info.until, run, request.database);
  return run;
}

/// Says what a run does before it has a number. Null where it is to be quiet.
std::unique_ptr<WaitingLine> waiting_line(const RunRequest& request, const PreparedRun& run, std::string_view what) {
  if (request.quiet) return nullptr;
  return std::make_unique<WaitingLine>(terminal_of(stderr),
                                       fmt::format("{} on {}: {}", run.task.name, called(run.device), what));
}

int exit_code_of(const SearchResult& result) {
  if (result.interrupted) return kInterrupted;
  return result.valid > 0 ? kDone : kNothingValid;
}

}  // namespace

int run(const RunRequest& request, const std::string& command_line) {
  if (!request.slurm.empty()) run_in_allocation(request.slurm);
  check_proposer(request);
  has_database(request.database);  // What can be none is refused before anything is done.
  const std::optional<std::chrono::milliseconds> check_time = check_time_of(request);
  // What to search: from the command line, or from the run that is resumed.
  PreparedRun run = feasible_run(request, command_line);

  // Who watches it. A port that is taken is found before anything is written.
  std::optional<WatchProcess> watched;
  if (request.watch) watched.emplace(request.database, *request.watch);

  // The legal genomes, and how they become candidates.
  std::unique_ptr<WaitingLine> waiting = waiting_line(request, run, "counting legal genomes");
  SearchSubject subject(run);
  waiting.reset();
  if (request.form) refuse_wrong_arguments(*request.form, subject.space, run, subject.build);
  write_to_stderr(request.notes);
  // Until here Ctrl-C ends the program at once, however long genomes are counted; from here on it ends the run cleanly.
  const InterruptGuard interrupt;

  // What predicts and what evaluates. Candidates that are modelled and then evaluated are compiled once.
  const auto binaries = std::make_shared<BinaryCache>();
  const RunModel model = start_model(run, subject.build, binaries, interrupt.requested());
  RunTime time(run.time_limit, check_time);
  const SearchLimits limits = limits_of(request, run, interrupt.requested(), time);
  RecordedProposals recorded = recorded_proposals(request, run, subject.templates);
  // The pipeline computes reference outputs while the pre-search runs.
  const ProfileWish profiled = profile_wish(request, run.device);
  RunPipeline evaluators =
      start_pipeline(run, finished_candidates(request, run, subject.build), binaries, profiled, model.pool == nullptr);
  if (!run.resumed) run.info.seeds = opening_seeds(run, subject.space, model.predictor.get(), request.quiet);
  if (interrupt.requested()) return kInterrupted;  // Nothing is written yet, so there is no run to resume.
  if (!run.resumed) run.info.nvrtc_version = open_compiler(run.device.kind)->version();
  if (request.time.empty()) time.begin();  // A time that nobody named does not count what comes before.

  Store store = made_store(request.database);
  const RunId id = begin_or_reopen(store, run);
  const std::unique_ptr<ProposerProcess> proposer = start_proposer(request, run, id, subject, store, limits);
  const std::unique_ptr<EditProposer> edits = make_edit_proposer(request, run, subject.templates, subject.build);
  const bool proposed = proposer != nullptr || edits != nullptr || !recorded.genomes.empty();
  const std::unique_ptr<LatePredictions> late =
      model.predictor != nullptr && may_be_late(run, proposed) ? store.late_predictions(id) : nullptr;
  const std::unique_ptr<Strategy> strategy = make_proposed(
      guided_strategy(run, subject.space, model.predictor.get(), late.get()), subject.space,
      one_of(proposer.get(), edits.get()), proposer_share(request), subject.templates, std::move(recorded));
  announce(run, id, subject.space, request);
  if (watched) {
    watched->show(id);
    write_to_stderr(fmt::format("watch it: {}\n", watched->address()));
  }
  warn_unless_selftested(run, store);

  const RunSummary summary = search_and_summarise({request, run, subject.build, model, evaluators, limits, binaries,
                                                   profiled, store, id, *strategy, proposer.get(), edits.get(), time});
  tell_refusals(request, summary);
  print("{}", request.json ? run_document(summary) : run_text(summary, request.database, terminal_of(stdout)));
  return exit_code_of(summary.result);
}

void add_run(CLI::App& app, Invocation& invocation) {
  auto [command, request] =
      add_command(app, invocation, "run", "Search for fast kernels of a task; the three best become its elites", run);
  add_run_options(command, request);
}

}  // namespace evo::cli
