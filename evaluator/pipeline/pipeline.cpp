#include "evaluator/pipeline/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <iterator>
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
#include "evaluator/base/cores.h"
#include "evaluator/base/stopwatch.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/pipeline/binary_cache.h"
#include "evaluator/pipeline/cases.h"
#include "evaluator/pipeline/compile_pool.h"
#include "evaluator/pipeline/evaluation_log.h"
#include "evaluator/pipeline/gates.h"
#include "evaluator/pipeline/interleaved_timing.h"
#include "evaluator/pipeline/oracle.h"
#include "evaluator/pipeline/profiler.h"
#include "evaluator/pipeline/shared_timing.h"
#include "evaluator/pipeline/validation.h"
#include "evaluator/worker/process.h"

namespace evo {
namespace {

/// So many failures of the machine in a row end the run.
constexpr int kMaxHarnessFailures = 5;
/// As many as there are elites.
constexpr std::size_t kRanked = 3;

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
  // Once it is built:
  std::string binary_key;
  std::vector<Binary> binaries;
  Evaluation built;                      ///< Its builds, what they are like, and how long they took.
  std::optional<std::size_t> failed_on;  ///< The lane on which the machine failed it.
};

/// A candidate that does the same work as another one under way.
struct Follower {
  Job job;
  const char* same = "";  ///< What they share.
};

/// A candidate, remembered for later ones that turn out to be the same.
struct Known {
  std::uint64_t ticket = 0;
  std::optional<Evaluation> evaluation;  ///< Empty: under way.
  std::vector<Follower> followers = {};  ///< Of one under way.
};

/// The result that a duplicate gets: the figures, without the lists behind them. Those are stored with the original,
/// and a run of many thousand candidates would hold them all in memory.
Evaluation abridged(Evaluation evaluation) {
  evaluation.errors = {};
  for (Timing& timing : evaluation.timings) timing.samples_us = {};
  for (Build& build : evaluation.builds) build.log.clear();
  return evaluation;
}

/// `builds`: the duplicate's own; empty for one that was not compiled.
Evaluation duplicate_of(std::uint64_t original, const Evaluation& known, const char* what, std::vector<Build> builds) {
  Evaluation evaluation = known;
  evaluation.phases = {};
  evaluation.verdict = Verdict::duplicate;
  evaluation.reason = fmt::format("same {} as proposal {}: {}", what, original, name_of(known.verdict));
  if (!known.reason.empty()) evaluation.reason += ", " + known.reason;
  if (!builds.empty()) evaluation.builds = std::move(builds);
  return evaluation;
}

/// How many candidates ran on a device, and how many of them failed.
struct Tally {
  std::uint64_t ran = 0;
  std::uint64_t failed = 0;
};

/// Whether a device fails its candidates more often than the others by more than chance explains: candidates go to the
/// device that is free, so all get the same mix.
bool fails_more_often(const Tally& one, const Tally& others) {
  constexpr std::uint64_t kFewest = 24;  // candidates of each side
  constexpr double kDeviations = 5;
  if (one.ran < kFewest || others.ran < kFewest) return false;
  const auto share = [](const Tally& tally) {
    return static_cast<double>(tally.failed) / static_cast<double>(tally.ran);
  };
  const Tally all{one.ran + others.ran, one.failed + others.failed};
  const double deviation = std::sqrt(share(all) * (1 - share(all)) *
                                     (1 / static_cast<double>(one.ran) + 1 / static_cast<double>(others.ran)));
  return share(one) - share(others) > kDeviations * deviation && one.failed > 0;
}

/// One device of a pipeline. What follows `options` is used by its thread alone.
struct Lane {
  std::size_t number = 0;
  PipelineOptions options;  ///< With this device.
  RanOn place;
  std::optional<Job> job;  ///< Under way.
  bool admitting = false;  ///< It looks at the next job in order.
  int harness_failures = 0;
  Tally tally;         ///< Guarded by the pipeline's mutex.
  bool unfit = false;  ///< Set aside for what it did with candidates.
  std::optional<Profiler> profiler;
  std::thread thread;
};

class Pipeline final : public DevicePipeline {
 public:
  explicit Pipeline(PipelineOptions options)
      : options_(with_defaults(std::move(options))),
        calibration_(load_calibration(options_.tree, options_.task)),
        plan_(plan_cases(options_.task, options_.target, options_.device.kind, options_.salt)),
        oracles_(plan_.cases.size()),
        compile_workers_(compile_workers(options_)),
        pool_(options_, compile_workers_, &stop_) {
    for (const Finished& finished : options_.finished) recall(finished);
    add_lane(options_.device);
    for (const DeviceInfo& device : options_.further_devices) add_lane(device);
    serving_ = lanes_.size();
    oracle_thread_ = std::thread([this] { compute_oracles(); });
    for (const std::unique_ptr<Lane>& lane : lanes_) start(*lane);
  }

  ~Pipeline() override {
    stop_.raise();
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    oracle_thread_.join();
    for (const std::unique_ptr<Lane>& lane : lanes_) lane->thread.join();
  }

  /// Throws what is missing.
  void wait_until_open() {
    pool_.wait_until_open();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return opened_ + unopened_ == lanes_.size() || open_error_; });
    if (open_error_) std::rethrow_exception(open_error_);
    opening_ = false;
  }

  std::size_t width() const override {
    if (const std::size_t width = kind_named(options_.device.kind).width; width > 0) return width;
    const std::size_t lanes = lane_count();
    return std::min(enough_in_flight(plan_) * lanes, static_cast<std::size_t>(compile_workers_) + 2 * lanes);
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

  std::future<InterleavedTimings> start_interleaved(std::vector<Candidate> candidates, int rounds,
                                                    EnoughRounds enough) override {
    return enqueue(std::make_shared<SharedTiming>(std::move(candidates), rounds, std::move(enough)), std::nullopt);
  }

  std::vector<InterleavedTimings> time_on_each(const Candidate& candidate, int rounds) override {
    std::vector<std::future<InterleavedTimings>> waiting;
    for (std::size_t lane = 0, lanes = lane_count(); lane < lanes; ++lane) {
      const std::vector<Candidate> alone = {candidate};
      waiting.push_back(enqueue(std::make_shared<SharedTiming>(alone, rounds, EnoughRounds()), lane));
    }
    std::vector<InterleavedTimings> timings(waiting.size());
    for (std::size_t lane = 0; lane < waiting.size(); ++lane) {
      try {
        timings[lane] = waiting[lane].get();
      } catch (const Error& error) {
        timings[lane].rounds_us.resize(1);
        timings[lane].failures = {error.what()};
      }
    }
    return timings;
  }

  void compile_on(const OtherHost& host) override { pool_.join(host); }
  std::vector<HostShare> compiled() const override { return pool_.shares(); }

  void join(const DeviceInfo& device) override {
    const std::lock_guard lock(mutex_);
    if (closing_ || fatal_) return;
    add_lane(device);
    ++serving_;
    start(*lanes_.back());
  }

  std::vector<DeviceInfo> devices() const override {
    const std::lock_guard lock(mutex_);
    std::vector<DeviceInfo> devices;
    for (const std::unique_ptr<Lane>& lane : lanes_) devices.push_back(lane->options.device);
    return devices;
  }

  LaneTimes times() override {
    const std::lock_guard lock(mutex_);
    clock_.count();
    return clock_.times;
  }

  std::vector<std::uint64_t> withdraw() override {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint64_t> tickets;
    for (const Job& job : jobs_) tickets.push_back(job.ticket);
    jobs_.clear();
    return tickets;
  }

 private:
  /// Candidates that are timed interleaved, or wait for it.
  struct Comparison {
    std::shared_ptr<SharedTiming> timing;
    std::optional<std::size_t> lane;  ///< The only one that may do it; empty: any.
    std::size_t lanes_at_work = 0;
  };

  void add_lane(const DeviceInfo& device) {
    auto lane = std::make_unique<Lane>();
    lane->number = lanes_.size();
    lane->options = options_;
    lane->options.finished.clear();
    lane->options.device = device;
    lane->place = {device.id, device.uuid, device.host.empty() ? this_host() : device.host};
    lanes_.push_back(std::move(lane));
  }

  void start(Lane& lane) {
    lane.thread = std::thread([this, &lane] { serve(lane); });
  }

  const PipelineOptions& options_of_lane(std::size_t number) const {
    const std::lock_guard lock(mutex_);
    return lanes_[number]->options;
  }

  std::size_t lane_count() const {
    const std::lock_guard lock(mutex_);
    return lanes_.size();
  }

  void start_compiling(Job& job) {
    for (const Program& program : job.candidate.programs) {
      job.compiled.push_back(pool_.compile(protocol::compile_request(program, options_.device.arch)));
    }
  }

  /// On the first device, and where the machine fails there on the next of the options.
  void compute_oracles() {
    const std::size_t devices = 1 + options_.further_devices.size();
    for (std::size_t i = 0; i < devices; ++i) {
      try {
        evo::compute_oracles(options_of_lane(i), plan_, stop_, oracles_);
        oracles_.finish();
        return;
      } catch (const Error& error) {
        if (error.fault() == Fault::machine && i + 1 < devices) continue;
        oracles_.fail(std::current_exception());
        return;
      } catch (...) {
        oracles_.fail(std::current_exception());
        return;
      }
    }
  }

  std::future<InterleavedTimings> enqueue(std::shared_ptr<SharedTiming> timing, std::optional<std::size_t> lane) {
    std::future<InterleavedTimings> result = timing->result();
    const std::lock_guard lock(mutex_);
    if (fatal_) std::rethrow_exception(fatal_);
    if (lane && left_.contains(*lane)) {
      timing->fail(left_.at(*lane));
      return result;
    }
    comparisons_.push_back({std::move(timing), lane});
    changed_.notify_all();
    return result;
  }

  // ---- A lane's thread: one candidate after another

  void serve(Lane& lane) {
    do serve_while_open(lane);
    while (wait_to_return(lane));
  }

  void serve_while_open(Lane& lane) {
    bool open = false;
    try {
      const std::string threads = std::to_string(threads_of_device(compile_workers_));
      WorkerClient device(worker_options(lane.options, {"device", lane.options.device.id, threads}, &stop_));
      device.start();
      announce_open(lane);
      open = true;
      ExtraOracles extra(lane.options, plan_, &stop_, further_);
      NoiseFloor floor(lane.options, calibration_, plan_, oracles_, &stop_, honest_);
      Validation validation({lane.options, calibration_, plan_, oracles_, extra, floor, device});
      emulate_while_idle(floor);
      while (next_job(lane, device)) {
        Evaluation evaluation = evaluate(lane, validation);
        watch_harness(lane, evaluation);
        watch_failures(lane, evaluation);
        finish(lane, std::move(evaluation));
      }
    } catch (const Stopped&) {
      // Nobody waits any more.
    } catch (...) {
      leave(lane, open, std::current_exception());
    }
  }

  /// Finds what the emulation errs by while no candidate is there yet: during a pre-search. A virtual GPU would take
  /// the cores that the pre-search needs.
  void emulate_while_idle(NoiseFloor& floor) {
    const bool is_needed = limits_of(options_.task, options_.target).follow_emulation();
    if (!is_needed || kind_named(options_.device.kind).on_host) return;
    for (std::size_t i = 0; i < plan_.cases.size() && is_idle(); ++i)
      floor.emulation_error(plan_.cases[i], *oracles_.get(i), 0);
  }

  bool is_idle() const {
    const std::lock_guard lock(mutex_);
    return !closing_ && jobs_.empty() && returned_.empty() && comparisons_.empty();
  }

  void announce_open(Lane& lane) {
    const std::lock_guard lock(mutex_);
    if (left_.erase(lane.number) == 0) {
      ++opened_;
    } else {
      ++serving_;
      lane.harness_failures = 0;
      if (options_.notice) options_.notice(fmt::format("{} is back", called(lane.options.device)));
    }
    changed_.notify_all();
  }

  /// Whether a device of another host that was lost is to be opened again. False: not this one, or nobody needs it.
  bool wait_to_return(const Lane& lane) {
    std::unique_lock lock(mutex_);
    if (!left_.contains(lane.number) || lane.options.device.reached_by.empty() || lane.unfit) return false;
    const auto pause = std::chrono::duration<double>(options_.return_s);
    return !changed_.wait_for(lock, pause, [this] { return closing_ || fatal_; });
  }

  /// A lane whose device is of no more use. Its work goes to the others; without any the pipeline has ended. At first a
  /// device of this host must open, one of another host may be missing.
  void leave(Lane& lane, bool open, const std::exception_ptr& why) {
    const std::lock_guard lock(mutex_);
    if (!left_.emplace(lane.number, why).second) return;  // It is still not back.
    if (--serving_ == 0) fatal_ = why;
    if (!open) ++unopened_;
    if (!open && opening_ && !open_error_ && (fatal_ || lane.options.device.reached_by.empty())) open_error_ = why;
    const bool admitted = lane.admitting;
    if (admitted) {
      clock_.end_wait();
      set_admitting(lane, false);
    }
    if (lane.job) {
      if (admitted) {
        jobs_.push_front(*std::move(lane.job));
      } else {
        returned_.push_back(*std::move(lane.job));
      }
      lane.job.reset();
    }
    // With one lane left there is no other to choose.
    if (serving_ == 1) {
      for (Job& job : returned_) job.failed_on.reset();
    }
    std::erase_if(comparisons_, [&](const Comparison& one) {
      const bool over = fatal_ || one.lane == lane.number;
      if (over) one.timing->fail(why);
      return over;
    });
    if (!fatal_ && !open_error_ && options_.notice) options_.notice(farewell(lane, why));
    changed_.notify_all();
  }

  static std::string farewell(const Lane& lane, const std::exception_ptr& why) {
    const std::string name = called(lane.options.device);
    try {
      std::rethrow_exception(why);
    } catch (const std::exception& error) {
      return fmt::format("{} is set aside, its work goes to the other devices: {}", name, error.what());
    }
  }

  /// Gives the lane the next candidate that has to run. Comparisons that no lane works on come first; a lane without a
  /// candidate joins one that another works on. Candidates are looked at in the order of submission, by one lane at a
  /// time: which of two equal ones is the duplicate does not depend on which device is faster. False: the pipeline
  /// closes.
  bool next_job(Lane& lane, WorkerClient& device) {
    while (true) {
      std::unique_lock lock(mutex_);
      clock_.begin_wait();
      changed_.wait(lock, [&] {
        return closing_ || comparison_for(lane) || returned_for(lane) != returned_.end() ||
               (!admitting_ && !jobs_.empty());
      });
      clock_.end_wait();
      if (closing_) return false;
      if (Comparison* fresh = comparison_for(lane); fresh != nullptr && fresh->lanes_at_work == 0) {
        compare(lane, *fresh, device, lock);
      } else if (const auto returned = returned_for(lane); returned != returned_.end()) {
        lane.job = std::move(*returned);
        returned_.erase(returned);
        return true;
      } else if (admitting_ || jobs_.empty()) {
        compare(lane, *comparison_for(lane), device, lock);
      } else {
        set_admitting(lane, true);
        lane.job = std::move(jobs_.front());
        jobs_.pop_front();
        clock_.begin_wait();
        lock.unlock();
        const bool runs = admit(lane);
        lock.lock();
        clock_.end_wait();
        set_admitting(lane, false);
        changed_.notify_all();
        if (runs) return true;
        lane.job.reset();
      }
    }
  }

  void set_admitting(Lane& lane, bool admitting) {
    lane.admitting = admitting_ = admitting;
    clock_.set_admitting(admitting);
  }

  /// One that no lane works on, else one that the lane may join; null without any. Of modelled times one round is
  /// enough.
  Comparison* comparison_for(const Lane& lane) {
    Comparison* joined = nullptr;
    for (Comparison& one : comparisons_) {
      if (one.lane && one.lane != lane.number) continue;
      if (one.lanes_at_work == 0) return &one;
      if (!joined && !one.timing->ended() && !kind_named(lane.options.device.kind).modelled) joined = &one;
    }
    return joined;
  }

  std::deque<Job>::iterator returned_for(const Lane& lane) {
    return std::ranges::find_if(returned_, [&](const Job& job) { return job.failed_on != lane.number; });
  }

  /// Unlocks while it times. When the lane fails, another one goes on with the comparison.
  void compare(Lane& lane, Comparison& comparison, WorkerClient& device, std::unique_lock<std::mutex>& lock) {
    ++comparison.lanes_at_work;
    const std::shared_ptr<SharedTiming> timing = comparison.timing;
    lock.unlock();
    Stopwatch watch;
    std::exception_ptr failure;
    try {
      std::vector<BuiltCandidate> candidates;
      for (const Candidate& candidate : timing->candidates())
        candidates.push_back({&candidate, binaries_of(candidate), ran_at_full_clock(candidate)});
      oracles_.wait_until_finished();  // Nothing else runs on the device.
      evo::time_interleaved(lane.options, plan_, device, candidates, timing->rounds(), timing->taker());
      timing->end();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    clock_.times.comparison_s += watch.lap_s();
    const auto mine = std::ranges::find(comparisons_, timing, &Comparison::timing);
    if (mine != comparisons_.end()) {
      --mine->lanes_at_work;
      if (timing->ended()) comparisons_.erase(mine);
    }
    changed_.notify_all();
    lock.unlock();
    if (failure) std::rethrow_exception(failure);
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

  /// Looks at the lane's job: false when its result is reported, or will be with that of an equal one under way.
  bool admit(Lane& lane) {
    Job& job = *lane.job;
    if (is_duplicate(lane, by_source_, job.source_key, "source")) return false;
    if (job.illegal) return settle(lane, failed(*job.illegal));

    Stopwatch watch;
    build(job);
    job.built.phases.waiting_s = watch.lap_s();
    if (job.built.verdict != Verdict::valid) return settle(lane, std::move(job.built));

    job.binary_key = key_of_builds(job.candidate, job.built.builds);
    if (is_duplicate(lane, by_binary_, job.binary_key, "cubin")) return false;
    if (options_.dedup) {
      const std::lock_guard lock(mutex_);
      by_source_[job.source_key] = by_binary_[job.binary_key] = Known{job.ticket, std::nullopt, {}};
    }
    return true;
  }

  /// Whether an equal candidate is known. Its result, if there is one yet, is then this one's.
  bool is_duplicate(Lane& lane, std::map<std::string, Known>& table, const std::string& key, const char* what) {
    const std::lock_guard lock(mutex_);
    const auto found = options_.dedup ? table.find(key) : table.end();
    if (found == table.end()) return false;
    Known& known = found->second;
    if (!known.evaluation) {
      known.followers.push_back({*std::move(lane.job), what});
      return true;
    }
    report_duplicate(known, {*std::move(lane.job), what});
    lane.harness_failures = 0;
    return true;
  }

  void report_duplicate(const Known& known, Follower follower) {
    report(follower.job.ticket,
           duplicate_of(known.ticket, *known.evaluation, follower.same, std::move(follower.job.built.builds)));
  }

  /// The result of a candidate that does not run.
  bool settle(Lane& lane, Evaluation evaluation) {
    const Job& job = *lane.job;
    watch_harness(lane, evaluation);
    const std::lock_guard lock(mutex_);
    if (options_.dedup && evaluation.verdict != Verdict::harness_failed)
      by_source_.insert_or_assign(job.source_key, Known{job.ticket, abridged(evaluation), {}});
    report(job.ticket, std::move(evaluation));
    return false;
  }

  void report(std::uint64_t ticket, Evaluation evaluation) {
    evaluation.salt = options_.salt;
    log_evaluation(ticket, evaluation);
    done_.push_back({ticket, std::move(evaluation)});
    changed_.notify_all();
  }

  Evaluation evaluate(Lane& lane, Validation& validation) {
    Job& job = *lane.job;
    Evaluation evaluation = validation.evaluate(job.candidate, job.binaries, to_beat());
    evaluation.builds = job.built.builds;
    evaluation.residency = job.built.residency;
    evaluation.phases.waiting_s = job.built.phases.waiting_s;
    evaluation.ran_on = lane.place;
    if (evaluation.verdict == Verdict::valid) read_counters(lane, evaluation);
    return evaluation;
  }

  /// The third best candidate, where candidates compete and there are three.
  std::optional<ToBeat> to_beat() const {
    const std::lock_guard lock(mutex_);
    if (!options_.competing || fastest_.size() < kRanked) return std::nullopt;
    return fastest_.back();
  }

  bool ran_at_full_clock(const Candidate& candidate) const {
    const std::lock_guard lock(mutex_);
    return at_full_clock_.contains(candidate.source_hash());
  }

  /// What later timings can do with those of a valid candidate.
  void remember_timings(const Job& job, const Evaluation& evaluation) {
    const bool at_full_clock = std::ranges::all_of(evaluation.timings, [this](const Timing& timing) {
      return timing.cold || (!timing.conditions.power_limited &&
                             is_full_clock(timing.conditions.sm_mhz_low, 1e3 * options_.device.clock_ghz));
    });
    // The warm-up of a slower one may have ended before a power limit showed.
    const bool warmed_up = fastest_.size() < kRanked || evaluation.latency_us <= fastest_.back().us;
    if (at_full_clock && warmed_up) at_full_clock_.insert(job.source_key);
    const auto behind = std::ranges::upper_bound(fastest_, evaluation.latency_us, {}, &ToBeat::us);
    fastest_.insert(behind, {evaluation.latency_us, at_full_clock});
    if (fastest_.size() > kRanked) fastest_.pop_back();
  }

  /// Reports the result of the lane's job. What the machine failed runs once more on another device. Failures of the
  /// machine are not remembered: a duplicate of such a candidate is evaluated.
  void finish(Lane& lane, Evaluation evaluation) {
    const std::lock_guard lock(mutex_);
    clock_.times.validation_s += evaluation.phases.validation_s;
    clock_.times.timing_s += evaluation.phases.timing_s;
    Job job = *std::move(lane.job);
    lane.job.reset();
    const bool machine_failed = evaluation.verdict == Verdict::harness_failed;
    if (machine_failed && !job.failed_on && serving_ > 1) {
      job.failed_on = lane.number;
      returned_.push_back(std::move(job));
      changed_.notify_all();
      return;
    }
    if (evaluation.verdict == Verdict::valid) remember_timings(job, evaluation);
    const Evaluation result = abridged(evaluation);
    report(job.ticket, std::move(evaluation));
    if (!options_.dedup) return;
    inform_followers(by_source_, job.source_key, machine_failed ? std::nullopt : std::optional(result));
    inform_followers(by_binary_, job.binary_key, machine_failed ? std::nullopt : std::optional(result));
  }

  /// Without a result they are candidates of their own.
  void inform_followers(std::map<std::string, Known>& table, const std::string& key,
                        const std::optional<Evaluation>& result) {
    const auto entry = table.find(key);
    std::vector<Follower> followers = std::exchange(entry->second.followers, {});
    if (result) {
      entry->second.evaluation = result;
      for (Follower& follower : followers) report_duplicate(entry->second, std::move(follower));
      return;
    }
    table.erase(entry);
    for (auto one = followers.rbegin(); one != followers.rend(); ++one) jobs_.push_front(std::move(one->job));
  }

  /// Those of every Nth valid candidate, N being profile_every. What hinders it once hinders it ever after, and is said
  /// once.
  void read_counters(Lane& lane, Evaluation& evaluation) {
    if (options_.profile_every == 0 || counters_hindered_ || valid_++ % options_.profile_every != 0) return;
    if (!lane.profiler) lane.profiler.emplace(lane.options, &stop_);
    try {
      Profiler::Result result = lane.profiler->profile(lane.job->candidate, lane.job->binaries);
      if (auto* profiles = std::get_if<std::vector<Profile>>(&result)) evaluation.profiles = std::move(*profiles);
    } catch (const Error& error) {
      if (!counters_hindered_.exchange(true) && options_.notice) options_.notice(error.what());
    }
  }

  /// Waits for the programs and checks each. The verdict is `valid` when all may be run.
  void build(Job& job) {
    if (job.compiled.empty()) start_compiling(job);  // Its duplicate ended without a result.
    Evaluation& evaluation = job.built = {};
    job.binaries.clear();
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
        job.binaries.push_back(*binary);
        std::ranges::move(residency_of(program, binary->build, options_.device.limits),
                          std::back_inserter(evaluation.residency));
      }
      Build& build = evaluation.builds.back();
      build.specialisation = name_of_specialisation(program.specialisation);
      build.arch = options_.device.arch;
      if (failure && evaluation.verdict == Verdict::valid) {
        evaluation.verdict = failure->verdict;
        evaluation.reason = failure->reason;
      }
    }
  }

  /// Remembers a candidate of an earlier pipeline as if this one had evaluated it.
  void recall(const Finished& finished) {
    const Verdict verdict = finished.evaluation.verdict;
    if (verdict == Verdict::duplicate || verdict == Verdict::harness_failed) return;
    const Known remembered{finished.ticket, abridged(finished.evaluation), {}};
    const std::string source_key = finished.candidate.source_hash();
    submitted_sources_.insert(source_key);
    by_source_[source_key] = {finished.ticket, remembered.evaluation, {}};
    if (was_built(verdict)) {
      by_binary_[key_of_builds(finished.candidate, finished.evaluation.builds)] = {
          finished.ticket, remembered.evaluation, {}};
    }
  }

  static Evaluation failed(const Failure& failure) {
    Evaluation evaluation;
    evaluation.verdict = failure.verdict;
    evaluation.reason = failure.reason;
    return evaluation;
  }

  static void watch_harness(Lane& lane, const Evaluation& evaluation) {
    lane.harness_failures = evaluation.verdict == Verdict::harness_failed ? lane.harness_failures + 1 : 0;
    if (lane.harness_failures < kMaxHarnessFailures) return;
    lane.unfit = true;
    throw machine_error(
        fmt::format("{}: {} evaluations in a row failed through no fault of the candidates; the last one: {}",
                    called(lane.options.device), lane.harness_failures, evaluation.reason));
  }

  /// Throws for a device that fails its candidates more often than the others. The candidate that showed it runs
  /// elsewhere.
  void watch_failures(Lane& lane, const Evaluation& evaluation) {
    const std::lock_guard lock(mutex_);
    ++lane.tally.ran;
    if (evaluation.verdict == Verdict::valid) return;
    ++lane.tally.failed;
    Tally others;
    for (const std::unique_ptr<Lane>& other : lanes_) {
      if (other->number == lane.number || left_.contains(other->number)) continue;
      others.ran += other->tally.ran;
      others.failed += other->tally.failed;
    }
    if (!fails_more_often(lane.tally, others)) return;
    lane.unfit = true;
    throw machine_error(fmt::format("it failed {} of {} candidates, the other devices {} of {}", lane.tally.failed,
                                    lane.tally.ran, others.failed, others.ran));
  }

  const PipelineOptions options_;
  const std::optional<Calibration> calibration_;
  const CasePlan plan_;
  StopSignal stop_;
  OracleStore oracles_;
  const std::shared_ptr<KnownOracles> further_ = std::make_shared<KnownOracles>();  ///< Of seeds beyond the grid's.
  const KnownHonest honest_{};
  int compile_workers_;
  CompilePool pool_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;      ///< Submitted, not yet looked at.
  std::deque<Job> returned_;  ///< Built, to be run on another device than before.
  std::deque<Done> done_;
  std::deque<Comparison> comparisons_;
  std::set<std::string> submitted_sources_;
  std::vector<ToBeat> fastest_;          ///< Of the valid candidates, in order; no more than kRanked.
  std::set<std::string> at_full_clock_;  ///< Sources of valid candidates that no power limit slowed down.
  std::map<std::string, Known> by_source_;
  std::map<std::string, Known> by_binary_;
  bool admitting_ = false;  ///< A lane looks at the next job.
  LaneClock clock_;
  std::size_t opened_ = 0;
  std::size_t unopened_ = 0;                        ///< Lanes whose device could not be opened.
  std::size_t serving_ = 0;                         ///< Lanes that have not left.
  std::map<std::size_t, std::exception_ptr> left_;  ///< Lanes that have, and why.
  bool opening_ = true;                             ///< Nothing is submitted yet.
  std::exception_ptr open_error_;
  std::exception_ptr fatal_;
  bool closing_ = false;

  std::atomic<std::uint64_t> valid_ = 0;
  std::atomic<bool> counters_hindered_ = false;

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::thread oracle_thread_;
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
