#include "evaluator/pipeline/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/parallel.h"
#include "evaluator/base/stopwatch.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/pipeline/binary_cache.h"
#include "evaluator/pipeline/cases.h"
#include "evaluator/pipeline/compile_pool.h"
#include "evaluator/pipeline/gates.h"
#include "evaluator/pipeline/interleaved_timing.h"
#include "evaluator/pipeline/oracle.h"
#include "evaluator/pipeline/profiler.h"
#include "evaluator/pipeline/validation.h"

namespace evo {
namespace {

/// So many failures of the machine in a row end the run.
constexpr int kMaxHarnessFailures = 5;

/// Candidates in flight that keep a GPU busy: some are compiled while one is validated and timed. There are no more,
/// because a strategy proposes better the more answers it has.
std::size_t enough_in_flight(const CasePlan& plan) {
  constexpr double kCompileSeconds = 1.0;  // of one candidate
  constexpr double kTimingSeconds = 0.12;
  constexpr double kBytesPerSecond = 5e8;  // of inputs, sent and looked at again, outputs compared
  double bytes = 0;
  for (const Case& one : plan.cases) bytes += static_cast<double>(input_bytes(one.recipe));
  return 2 + static_cast<std::size_t>(std::ceil(kCompileSeconds / (kTimingSeconds + bytes / kBytesPerSecond)));
}

int compile_workers(const PipelineOptions& options) {
  if (options.compile_workers > 0) return options.compile_workers;
  return usable_cores();
}

/// Threads of a device that computes on the CPU: the cores that there are for each compile worker. In a search that is
/// one. With few compile workers, where somebody waits for a few candidates, there are more.
int threads_of_device(int compile_workers) {
  return std::max(usable_cores() / compile_workers, 1);
}

PipelineOptions with_defaults(PipelineOptions options) {
  if (options.run_deadline_s <= 0) options.run_deadline_s = kind_named(options.device.kind).run_deadline_s;
  if (!options.binaries) options.binaries = std::make_shared<BinaryCache>();
  return options;
}

std::string name_of_specialisation(const Bindings& specialisation) {
  std::string text;
  for (const auto& [name, value] : specialisation) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, expr::to_string(value));
  }
  return text;
}

/// A candidate on its way.
struct Job {
  std::uint64_t ticket = 0;
  Candidate candidate;
  std::string source_key;
  std::optional<Failure> illegal;
  std::vector<std::shared_future<CompilePool::Result>> compiled;  ///< One for each program; empty until asked for.
};

/// A finished candidate, remembered for later ones that turn out to be the same.
struct Known {
  std::uint64_t ticket = 0;
  Evaluation evaluation;
};

/// The result that a duplicate gets: the figures, without the lists behind them. Those are stored with the original,
/// and a run of many thousand candidates would hold them all in memory.
Evaluation abridged(Evaluation evaluation) {
  evaluation.errors = {};
  for (Timing& timing : evaluation.timings) timing.samples_us = {};
  for (Build& build : evaluation.builds) build.log.clear();
  return evaluation;
}

Evaluation duplicate_of(const Known& known, const char* what) {
  Evaluation evaluation = known.evaluation;
  evaluation.phases = {};
  evaluation.verdict = Verdict::duplicate;
  evaluation.reason = fmt::format("same {} as proposal {}: {}", what, known.ticket, name_of(known.evaluation.verdict));
  if (!known.evaluation.reason.empty()) evaluation.reason += ", " + known.evaluation.reason;
  return evaluation;
}

class Pipeline final : public DevicePipeline {
 public:
  explicit Pipeline(PipelineOptions options)
      : options_(with_defaults(std::move(options))),
        calibration_(load_calibration(options_.tree, options_.task)),
        plan_(plan_cases(options_.task, options_.target, options_.device.kind, options_.salt)),
        oracles_(plan_.cases.size()),
        compile_workers_(compile_workers(options_)),
        pool_(worker_options(options_, {"compile"}, &stop_), compile_workers_, options_.compile_deadline_s,
              options_.binaries) {
    for (const Finished& finished : options_.finished) recall(finished);
    oracle_thread_ = std::thread([this] { compute_oracles(); });
    device_thread_ = std::thread([this] { evaluate_all(); });
  }

  ~Pipeline() override {
    stop_.raise();
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    oracle_thread_.join();
    device_thread_.join();
  }

  /// Throws what is missing.
  void wait_until_open() {
    pool_.wait_until_open();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return device_open_ || fatal_; });
    if (!device_open_) std::rethrow_exception(fatal_);
  }

  std::size_t width() const override {
    if (const std::size_t width = kind_named(options_.device.kind).width; width > 0) return width;
    return std::min(enough_in_flight(plan_), static_cast<std::size_t>(compile_workers_) + 2);
  }

  void submit(std::uint64_t ticket, const Candidate& candidate) override {
    Job job;
    job.ticket = ticket;
    job.candidate = candidate;
    job.source_key = candidate.source_hash();
    job.illegal = check_legality(candidate, options_.device);
    const std::lock_guard lock(mutex_);
    // A copy of an earlier candidate waits for that one's result and is not compiled.
    const bool fresh = !options_.dedup || submitted_sources_.insert(job.source_key).second;
    if (fresh && !job.illegal) start_compiling(job);
    jobs_.push_back(std::move(job));
    changed_.notify_all();
  }

  Done wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !done_.empty() || fatal_; });
    if (done_.empty()) std::rethrow_exception(fatal_);
    Done done = std::move(done_.front());
    done_.pop_front();
    return done;
  }

  InterleavedTimings time_interleaved(const std::vector<Candidate>& candidates, int rounds,
                                      const EnoughRounds& enough) override {
    Comparison comparison{&candidates, rounds, &enough, {}};
    std::future<InterleavedTimings> result = comparison.result.get_future();
    {
      const std::lock_guard lock(mutex_);
      if (fatal_) std::rethrow_exception(fatal_);
      comparison_ = &comparison;
    }
    changed_.notify_all();
    return result.get();
  }

  std::vector<std::uint64_t> withdraw() override {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint64_t> tickets;
    for (const Job& job : jobs_) tickets.push_back(job.ticket);
    jobs_.clear();
    return tickets;
  }

 private:
  /// A call of time_interleaved that waits.
  struct Comparison {
    const std::vector<Candidate>* candidates = nullptr;
    int rounds = 0;
    const EnoughRounds* enough = nullptr;
    std::promise<InterleavedTimings> result;
  };

  void start_compiling(Job& job) {
    for (const Program& program : job.candidate.programs) {
      job.compiled.push_back(pool_.compile(protocol::compile_request(program, options_.device.arch)));
    }
  }

  void compute_oracles() {
    try {
      evo::compute_oracles(options_, plan_, stop_, oracles_);
      oracles_.finish();
    } catch (...) {
      oracles_.fail(std::current_exception());
    }
  }

  // ---- The device thread: candidates one after another, in the order of submission

  void evaluate_all() {
    try {
      const std::string threads = std::to_string(threads_of_device(compile_workers_));
      WorkerClient device(worker_options(options_, {"device", options_.device.id, threads}, &stop_));
      device.start();
      announce_device();
      ExtraOracles extra(options_, plan_, &stop_);
      NoiseFloor floor(options_, calibration_, plan_, oracles_, &stop_);
      Validation validation({options_, calibration_, plan_, oracles_, extra, floor, device});
      while (std::optional<Job> job = next_job(device)) {
        Evaluation evaluation = evaluate(*job, validation);
        evaluation.salt = options_.salt;
        watch_harness(evaluation);
        report({job->ticket, std::move(evaluation)});
      }
    } catch (const Stopped&) {
      // Nobody waits any more.
    } catch (...) {
      const std::lock_guard lock(mutex_);
      fatal_ = std::current_exception();
      if (comparison_ != nullptr) std::exchange(comparison_, nullptr)->result.set_exception(fatal_);
      changed_.notify_all();
    }
  }

  void announce_device() {
    const std::lock_guard lock(mutex_);
    device_open_ = true;
    changed_.notify_all();
  }

  /// The next candidate. An interleaved comparison that is asked for meanwhile comes first.
  std::optional<Job> next_job(WorkerClient& device) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return closing_ || comparison_ != nullptr || !jobs_.empty(); });
      if (closing_) return std::nullopt;
      if (comparison_ == nullptr) break;
      lock.unlock();
      InterleavedTimings timings = compare(*comparison_, device);
      lock.lock();
      std::exchange(comparison_, nullptr)->result.set_value(std::move(timings));
    }
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

  InterleavedTimings compare(const Comparison& comparison, WorkerClient& device) {
    std::vector<BuiltCandidate> candidates;
    for (const Candidate& candidate : *comparison.candidates)
      candidates.push_back({&candidate, binaries_of(candidate)});
    oracles_.wait_until_finished();  // Nothing else runs on the device.
    return evo::time_interleaved(options_, plan_, device, candidates, comparison.rounds, *comparison.enough);
  }

  std::vector<Binary> binaries_of(const Candidate& candidate) {
    std::vector<Binary> binaries;
    for (const Program& program : candidate.programs) {
      const CompilePool::Result result = pool_.compile(protocol::compile_request(program, options_.device.arch)).get();
      if (const auto* failure = std::get_if<Failure>(&result)) {
        throw machine_error(
            fmt::format("what compiled before does not compile for {}: {}", options_.device.arch, failure->reason));
      }
      binaries.push_back(std::get<Binary>(result));
    }
    return binaries;
  }

  void report(Done done) {
    const std::lock_guard lock(mutex_);
    done_.push_back(std::move(done));
    changed_.notify_all();
  }

  Evaluation evaluate(Job& job, Validation& validation) {
    if (const Known* duplicate = known(by_source_, job.source_key)) return duplicate_of(*duplicate, "source");
    if (job.illegal) return remember(by_source_, job.source_key, job, failed(*job.illegal));

    Evaluation evaluation;
    Stopwatch watch;
    const std::vector<Binary> binaries = build(job, evaluation);
    evaluation.phases.waiting_s = watch.lap_s();
    if (evaluation.verdict != Verdict::valid) return remember(by_source_, job.source_key, job, std::move(evaluation));

    const std::string binary_key = key_of_builds(job.candidate, evaluation.builds);
    if (const Known* duplicate = known(by_binary_, binary_key)) {
      Evaluation copy = duplicate_of(*duplicate, "cubin");
      copy.builds = std::move(evaluation.builds);
      return copy;
    }
    std::vector<Build> builds = std::move(evaluation.builds);
    std::string profile = std::move(evaluation.sass_summary);
    const double waiting_s = evaluation.phases.waiting_s;
    evaluation = validation.evaluate(job.candidate, binaries);
    evaluation.builds = std::move(builds);
    evaluation.sass_summary = std::move(profile);
    evaluation.phases.waiting_s = waiting_s;
    if (evaluation.verdict == Verdict::valid) read_counters(job.candidate, binaries, evaluation);
    remember(by_binary_, binary_key, job, evaluation);
    return remember(by_source_, job.source_key, job, std::move(evaluation));
  }

  /// Those of every Nth valid candidate, N being profile_every. What hinders it once hinders it ever after, and is said
  /// once.
  void read_counters(const Candidate& candidate, const std::vector<Binary>& binaries, Evaluation& evaluation) {
    if (options_.profile_every == 0 || counters_hindered_ || valid_++ % options_.profile_every != 0) return;
    if (!profiler_) profiler_.emplace(options_, &stop_);
    try {
      Profiler::Result result = profiler_->profile(candidate, binaries);
      if (auto* profiles = std::get_if<std::vector<Profile>>(&result)) evaluation.profiles = std::move(*profiles);
    } catch (const Error& error) {
      counters_hindered_ = true;
      if (options_.notice) options_.notice(error.what());
    }
  }

  /// Waits for the programs and checks each. The evaluation's verdict is `valid` when all may be run.
  std::vector<Binary> build(Job& job, Evaluation& evaluation) {
    if (job.compiled.empty()) start_compiling(job);  // Its duplicate ended without a result.
    std::vector<Binary> binaries;
    evaluation.verdict = Verdict::valid;
    for (std::size_t i = 0; i < job.compiled.size(); ++i) {
      const Program& program = job.candidate.programs[i];
      const CompilePool::Result& result = job.compiled[i].get();
      const auto* binary = std::get_if<Binary>(&result);
      std::optional<Failure> failure;
      if (binary == nullptr) {
        failure = translated(std::get<Failure>(result), program);
        evaluation.builds.push_back({});
        evaluation.builds.back().log = failure->log;
      } else {
        failure = check_build(program, *binary, options_.device);
        evaluation.builds.push_back(binary->build);
        evaluation.builds.back().log = program.lines.translated(binary->build.log);
        binaries.push_back(*binary);
        evaluation.sass_summary += describe_occupancy(program, binary->build, options_.device.limits) + "\n";
      }
      Build& build = evaluation.builds.back();
      build.specialisation = name_of_specialisation(program.specialisation);
      build.arch = options_.device.arch;
      if (failure && evaluation.verdict == Verdict::valid) {
        evaluation.verdict = failure->verdict;
        evaluation.reason = failure->reason;
      }
    }
    return binaries;
  }

  /// Remembers a candidate of an earlier pipeline as if this one had evaluated it.
  void recall(const Finished& finished) {
    const Verdict verdict = finished.evaluation.verdict;
    if (verdict == Verdict::duplicate || verdict == Verdict::harness_failed) return;
    const Known remembered{finished.ticket, abridged(finished.evaluation)};
    const std::string source_key = finished.candidate.source_hash();
    submitted_sources_.insert(source_key);
    by_source_.insert_or_assign(source_key, remembered);
    if (was_built(verdict)) {
      by_binary_.insert_or_assign(key_of_builds(finished.candidate, finished.evaluation.builds), remembered);
    }
  }

  static Evaluation failed(const Failure& failure) {
    Evaluation evaluation;
    evaluation.verdict = failure.verdict;
    evaluation.reason = failure.reason;
    return evaluation;
  }

  const Known* known(const std::map<std::string, Known>& table, const std::string& key) const {
    const auto found = options_.dedup ? table.find(key) : table.end();
    return found == table.end() ? nullptr : &found->second;
  }

  /// Failures of the machine are not remembered: a duplicate of such a candidate is evaluated.
  Evaluation remember(std::map<std::string, Known>& table, const std::string& key, const Job& job,
                      Evaluation evaluation) {
    if (options_.dedup && evaluation.verdict != Verdict::harness_failed) {
      table.insert_or_assign(key, Known{job.ticket, abridged(evaluation)});
    }
    return evaluation;
  }

  void watch_harness(const Evaluation& evaluation) {
    harness_failures_ = evaluation.verdict == Verdict::harness_failed ? harness_failures_ + 1 : 0;
    if (harness_failures_ < kMaxHarnessFailures) return;
    throw machine_error(
        fmt::format("{}: {} evaluations in a row failed through no fault of the candidates; the last one: {}",
                    options_.device.id, harness_failures_, evaluation.reason));
  }

  const PipelineOptions options_;
  const std::optional<Calibration> calibration_;
  const CasePlan plan_;
  StopSignal stop_;
  OracleStore oracles_;
  int compile_workers_;
  CompilePool pool_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;  ///< Submitted, not yet taken by the device thread.
  std::deque<Done> done_;
  std::set<std::string> submitted_sources_;
  std::exception_ptr fatal_;
  Comparison* comparison_ = nullptr;
  bool device_open_ = false;
  bool closing_ = false;

  // Of the device thread alone.
  std::map<std::string, Known> by_source_;
  std::map<std::string, Known> by_binary_;
  int harness_failures_ = 0;
  std::uint64_t valid_ = 0;
  bool counters_hindered_ = false;
  std::optional<Profiler> profiler_;

  std::thread oracle_thread_;
  std::thread device_thread_;
};

}  // namespace

std::string key_of_builds(const Candidate& candidate, const std::vector<Build>& builds) {
  std::string key = candidate.plans_hash();
  for (const Build& build : builds) key.append(" ").append(build.cubin_hash);
  return key;
}

std::unique_ptr<DevicePipeline> make_pipeline(PipelineOptions options) {
  auto pipeline = std::make_unique<Pipeline>(std::move(options));
  pipeline->wait_until_open();
  return pipeline;
}

}  // namespace evo
