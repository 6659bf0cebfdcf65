#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/record/record.h"
#include "engine/result/elite_check.h"
#include "engine/result/evaluation.h"
#include "engine/search/search.h"
#include "engine/search/seeds.h"
#include "engine/task/candidate.h"
#include "engine/task/genome.h"

/// The records that the store takes and gives.
namespace evo {

/// The device of a run as the store remembers it.
struct DeviceRecord {
  std::string id;    ///< "cuda:0", "vgpu:h200".
  std::string kind;  ///< Name of its DeviceKind: "cuda", "vgpu".
  std::string name;  ///< "NVIDIA H200".
  std::string arch;  ///< "sm_90a".
  std::string uuid;  ///< Empty for a virtual GPU.
  std::string driver;
  Bindings facts;  ///< facts_of(limits): plans are resolved again from the database alone.
};

EVO_RECORD(DeviceRecord, id, kind, name, arch, uuid, driver, facts);

/// Kind, name and arch, which GPUs of one model share; not the ordinal or the uuid.
std::string device_key(const DeviceRecord& device);

/// "latency mission out=f16": the objective, the timed shapes and the options that a target's candidates share.
/// Candidates of different objectives never compete.
std::string objective_of(const Target& target);

/// The files of `tree` that a task's hash covers: its folder and include/.
SourceTree files_of_task(const SourceTree& tree, std::string_view task);

/// Everything that makes a run repeatable.
struct RunInfo {
  std::string task;
  std::string task_hash;
  SourceTree files;  ///< files_of_task: stored once for each task hash, so that export and resume need no templates.
  DeviceRecord device;
  std::vector<DeviceRecord> further_devices = {};  ///< Of the same model; they evaluate too.
  AnswerOrder answers = AnswerOrder::asked;
  Target target;
  std::string objective;  ///< objective_of(target).
  std::string family;     ///< The only one that is searched; empty: every one that fits the device.
  std::string strategy;
  std::uint64_t seed = 0;
  std::uint64_t salt = 0;
  std::optional<std::uint64_t> evaluation_limit = {};
  std::optional<double> time_limit_s = {};
  bool keeps_front = false;  ///< The front of latency over error (Store::front).
  std::string until;         ///< The latency that ends it, as typed: "20us", "95%", "1.1x torch"; empty: none.
  std::optional<double> until_us = {};  ///< What that was when it began.
  bool settles = false;                 ///< It ends itself (engine/search/settling.h).
  std::uint64_t settled_until = 0;      ///< It did until it had so many answers; then it was given a limit.
  std::uint64_t screen = 1;             ///< Proposals for each that is evaluated (engine/search/surrogate_screening.h).
  std::uint64_t width = 0;              ///< Evaluator::width(): answers reach the strategy this many proposals late.
  std::vector<Seed> seeds;              ///< Proposed first, in this order.
  std::string command_line;             ///< As typed.
  std::string evo_version;
  std::string nvrtc_version;
};

/// What stands in the row of a run; task, devices and objective have rows of their own.
EVO_FIELDS(RunInfo, answers, target, family, strategy, seed, salt, evaluation_limit, time_limit_s, keeps_front, until,
           until_us, settles, settled_until, screen, width, seeds, command_line, evo_version, nvrtc_version);

enum class RunStatus {
  running,  ///< A process holds its lease.
  finished,
  interrupted,  ///< Ctrl-C, out of time or killed: it can be resumed.
  failed,       ///< The machine failed.
};

using RunId = std::int64_t;
using CandidateId = std::int64_t;

/// One run with its counts.
struct RunRow {
  RunId id = 0;
  RunInfo info;  ///< Without files: see Store::task_files.
  RunStatus status = RunStatus::running;
  std::string started_at;                  ///< UTC, ISO 8601.
  std::optional<std::string> finished_at;  ///< Empty while running.
  std::uint64_t evaluated = 0;
  std::uint64_t valid = 0;
  std::optional<double> best_us;
};

template <>
inline constexpr auto kFields<RunRow> = std::tuple(Field{"id", &RunRow::id}, Field{"", &RunRow::info},
                                                   Field{"status", &RunRow::status},
                                                   Field{"started_at", &RunRow::started_at},
                                                   Field{"finished_at", &RunRow::finished_at},
                                                   Field{"evaluated", &RunRow::evaluated},
                                                   Field{"valid", &RunRow::valid}, Field{"best_us", &RunRow::best_us});
static_assert(lists_all_fields<RunRow>());

/// Which rows to list; empty fields do not restrict.
struct EliteFilter {
  std::string task = {};
  std::string device = {};     ///< A device id ("cuda:0", "vgpu:h200"), kind, or a part of its name.
  std::string objective = {};  ///< Its words, or the first of them: "accurate", "accurate mission".
  std::string task_hash = {};
};

struct EliteRow {
  int rank = 0;  ///< 1, 2, 3 within its key.
  CandidateId candidate = 0;
  RunId run = 0;
  std::string task;
  std::string task_hash;
  bool current = true;  ///< The task hash is the last that a run of this task was started with.
  DeviceRecord device;
  std::string objective;
  Genome genome;
  double latency_us = 0;
  bool modelled = false;
  double worst_relative_l2 = 0;
  int registers = 0;    ///< The largest among its programs.
  int spill_bytes = 0;  ///< The largest among its programs.
  std::vector<Timing> timings;
  std::string source_hash;
  std::uint64_t genomes = 1;       ///< That make this kernel: those of its duplicates on the board, and its own.
  std::string since;               ///< When it became an elite.
  std::vector<EliteCheck> checks;  ///< That found nothing. It is provisional until all are made.
  bool self_consistent = false;    ///< Its task has no reference but a genome. The store leaves it false.
};

struct StoredProgram {
  Bindings specialisation;
  std::string source;
  std::string source_hash;
  int max_registers = 0;
};

/// A program of others that computes the same as a candidate, as it did in one sitting.
struct RivalResult {
  std::string name;     ///< "Triton e4m3"
  std::string version;  ///< "triton 3.6.0"
  std::string note;     ///< How it deviates from the task: "bf16 of the decoded codes". Mostly empty.
  /// valid; wrong_answer by the limits of candidates; unsupported, crashed or timed_out.
  Verdict verdict = Verdict::unsupported;
  std::string reason;
  std::optional<double> relative_l2;  ///< Its largest error on the timed inputs. Empty: it gave no answer.
  std::vector<double> rounds_us;      ///< The objective in each round: a mean over the timed shapes.
  std::optional<double> median_us;    ///< Of the rounds. Empty: it was not timed.
  double ratio = 0;                   ///< Its time over the candidate's, a mean over the rounds; 0: not timed.
  double ratio_low = 0;               ///< Of the 95 % interval.
  double ratio_high = 0;
};

EVO_RECORD(RivalResult, name, version, note, verdict, reason, relative_l2, rounds_us, median_us, ratio, ratio_low,
           ratio_high);

/// A candidate and its rivals, timed in turns on one device.
struct Sitting {
  CandidateId candidate = 0;
  RunId run = 0;  ///< The candidate's; the store knows it.
  DeviceRecord device;
  std::string at;  ///< UTC, ISO 8601; the store knows it.
  std::uint64_t salt = 0;
  std::string evo_version;
  std::vector<double> rounds_us;  ///< The candidate's.
  double median_us = 0;           ///< Of these.
  int throttled = 0;              ///< Samples of the candidate that were taken under lowered clocks.
  std::vector<RivalResult> rivals;
};

/// Its run is known by the candidate.
EVO_FIELDS(Sitting, candidate, device, at, salt, evo_version, median_us, rounds_us, throttled, rivals);

/// The fastest rival whose answers are right; null when there is none.
const RivalResult* best_rival(const Sitting& sitting);

/// All that is known of one candidate.
struct CandidateRow {
  CandidateId id = 0;
  RunId run = 0;
  std::uint64_t ticket = 0;
  std::string recorded_at;
  std::string op;
  std::string note;  ///< Why a proposer proposed it; mostly empty.
  std::vector<CandidateId> parents;
  Genome genome;
  std::string source_hash;
  std::vector<StoredProgram> programs;
  SourceTree files;  ///< Templates that it has in addition to its task's.
  Evaluation evaluation;
  std::optional<int> elite_rank;
  std::vector<EliteCheck> checks;  ///< That it went through as an elite.
  std::vector<Sitting> sittings;   ///< Newest first.
};

/// A question to a language model, and its answer.
struct ExchangeRecord {
  std::string model;
  std::string prompt;
  std::string answer;  ///< As the server gave it; empty where it gave none.
  std::int64_t prompt_tokens = 0;
  std::int64_t answer_tokens = 0;
  double cost = 0;      ///< In the currency of the prices that the user gave.
  double seconds = 0;   ///< Until the answer was there.
  std::string failure;  ///< Why it gave no proposals; empty: it did.
};

/// What stands in its row; prompt and answer are texts of their own.
EVO_FIELDS(ExchangeRecord, model, prompt_tokens, answer_tokens, cost, seconds, failure);

using ExchangeId = std::int64_t;

/// An exchange of a run, and what came of it.
struct ExchangeRow {
  ExchangeRecord exchange;
  std::string at;                       ///< When it was recorded: UTC, ISO 8601.
  std::vector<CandidateId> candidates;  ///< That its answer proposed.
};

/// Cost and results of the exchanges of a run.
struct ExchangeSums {
  std::string model;  ///< Of the last one.
  std::uint64_t requests = 0;
  std::uint64_t failed = 0;  ///< Of these.
  std::uint64_t tokens = 0;
  double cost = 0;
  std::uint64_t candidates = 0;
  std::uint64_t valid = 0;  ///< Of these.
  std::optional<CandidateId> best = {};
  std::optional<double> best_us = {};
};

/// A person's note about a candidate.
struct NoteRow {
  CandidateId candidate = 0;
  RunId run = 0;
  std::string at;  ///< UTC, ISO 8601.
  std::string text;
};

/// One candidate of a run in brief, in ticket order: convergence and statistics are computed from these.
struct OutcomeRow {
  CandidateId candidate = 0;
  std::uint64_t ticket = 0;
  std::string op;
  Genome genome;
  Verdict verdict = Verdict::harness_failed;
  std::string reason;                            ///< Of the verdict; empty for valid ones.
  std::optional<Original> original = {};         ///< Of duplicates.
  std::optional<Mismatch> mismatch = {};         ///< Of wrong answers.
  std::optional<double> latency_us;              ///< Valid ones.
  std::optional<double> worst_relative_l2 = {};  ///< Over the cases that ran, 0 without any; empty: no number.
  std::optional<CandidateId> first_parent = {};
  double seconds = 0;  ///< Since the run was started.
  std::string note;    ///< A proposer's.
  double compile_ms = 0;
  PhaseTimes phases;
};

/// How many candidates of a run ran on one device.
struct PlaceCount {
  RanOn place;
  std::uint64_t evaluated = 0;
  std::uint64_t machine_failed = 0;  ///< Of these, those with the verdict harness_failed.
};

/// One ancestor: the candidate itself has distance 0, its parents 1, ...
struct LineageRow {
  CandidateId candidate = 0;
  int distance = 0;
  std::string op;
  std::vector<CandidateId> parents;
  Genome genome;
  Verdict verdict = Verdict::harness_failed;
  std::optional<double> latency_us;
};

/// A gene whose alleles differ; empty where a genome does not have the gene.
struct GeneDifference {
  std::string gene;
  std::optional<Value> a;
  std::optional<Value> b;
};
std::vector<GeneDifference> differences(const Genome& a, const Genome& b);

/// One self-test of a task: whether its planted mutants were rejected and its honest kernels accepted.
struct SelftestRecord {
  std::string task;
  std::string task_hash;
  DeviceRecord device;
  bool passed = false;
  std::uint64_t judged = 0;  ///< Mutants and controls that were checked.
  std::uint64_t wrong = 0;   ///< Of these, those with a wrong verdict.
  std::uint64_t salt = 0;    ///< Mixed into its seeds.
  std::string evo_version;
  std::string nvrtc_version;
  std::string at = {};  ///< UTC, ISO 8601; the store knows it.
};

/// What stands in its row; task and device have rows of their own.
EVO_FIELDS(SelftestRecord, passed, judged, wrong, salt, evo_version, nvrtc_version, at);

/// Inputs on which a kernel of a task was wrong.
struct AttackRecord {
  std::string task;
  std::string task_hash;
  DeviceRecord device;
  std::string regime;           ///< As json_of (engine/task/regime.h) writes it.
  Bindings shape;               ///< Its parameters.
  std::optional<double> error;  ///< Over its limit. Empty: there was no answer.
  std::string reason;
  std::string origin;  ///< "candidate 17", "best.cu", ...
  std::string evo_version;
  std::string at = {};  ///< UTC, ISO 8601; the store knows it.
};

/// What stands in its row; task and device have rows of their own.
EVO_FIELDS(AttackRecord, regime, shape, error, reason, origin, evo_version, at);

/// The counts of a merge.
struct MergeCounts {
  std::uint64_t runs = 0;
  std::uint64_t known_runs = 0;      ///< Were here already.
  std::uint64_t continued_runs = 0;  ///< Of these, those that have gone on there.
  /// Of the known runs, by their ids here, those that have gone on from other results there than here.
  std::vector<RunId> contradicting_runs;
  std::uint64_t candidates = 0;
  std::uint64_t elites = 0;  ///< Of these candidates, at the end.
};

/// Decides whether a challenger of a lower latency displaces an elite, where latencies are measured. Results do not
/// wait for it: the fastest challenger is compared first, one at a time, and one that falls behind the elites is not
/// compared.
struct EliteComparer {
  enum class When { beside_search, after_search };
  /// Whether single timings are enough: the challenger is faster than this elite by more than they err. An elite of
  /// another run was timed on another day, or on another GPU of the model.
  std::function<bool(const Evaluation& challenger, const Evaluation& elite, bool of_one_run)> plainly_faster = {};
  /// Whether there is time for a comparison.
  std::function<bool(When when)> may_start = {};
  /// Starts to time both in turns. They are committed; called outside of any transaction. Nothing comes of it where the
  /// run is stopped meanwhile. Empty: latencies decide.
  std::function<std::future<std::optional<EliteComparison>>(CandidateId challenger, CandidateId incumbent)> start = {};
};

/// How the elites of a run's board are checked while it goes on: one at a time, the best first.
struct EliteChecks {
  /// Starts the checks of an elite, which is committed. Its result throws where the machine fails. Empty: none.
  std::function<std::future<CheckedElite>(CandidateId)> start = {};
  /// Where the same seed must give the same run the search is told at every so-many-th answer what checks have found:
  /// of elites as old as that, and it waits for those that are not ready. 0: it is told as soon as that is known.
  std::uint64_t every = 0;
  const std::atomic<bool>* stop = nullptr;  ///< Ends a wait for checks. May be null.
  /// Ends a wait while the search goes on: its time is over. May be empty.
  std::function<bool()> out_of_time = {};
  /// Given an elite that was found wrong, and is none any more. May be empty.
  std::function<void(CandidateId, const EliteFinding&)> found = {};
  /// Given one line for people. May be empty.
  std::function<void(const std::string&)> notice = {};
};

}  // namespace evo
