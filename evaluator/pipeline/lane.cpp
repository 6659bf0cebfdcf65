#include "evaluator/pipeline/lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/cores.h"
#include "evaluator/base/stopwatch.h"
#include "evaluator/pipeline/device_judging.h"
#include "evaluator/pipeline/program_building.h"
#include "evaluator/timing/interleaved_timing.h"
#include "evaluator/worker/process.h"

namespace evo {
namespace {

PipelineOptions on_device(PipelineOptions options, const DeviceInfo& device) {
  options.finished.clear();
  options.device = device;
  return options;
}

/// Threads of a device that computes on the CPU: the cores that there are for each compile worker. In a search that is
/// one. With few compile workers, where somebody waits for a few candidates, there are more.
int threads_of_device(int compile_workers) {
  return std::max(usable_cores() / compile_workers, 1);
}

std::string farewell(const DeviceInfo& device, const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const std::exception& error) {
    return fmt::format("{} is set aside, its work goes to the other devices: {}", called(device), error.what());
  }
}

Evaluation ended_by(const Failure& failure) {
  Evaluation evaluation;
  evaluation.verdict = failure.verdict;
  evaluation.reason = failure.reason;
  return evaluation;
}

}  // namespace

Lane::Lane(SharedWork& shared, std::size_t number, const DeviceInfo& device)
    : shared_(shared),
      number_(number),
      options_(on_device(shared.options, device)),
      place_{device.id, device.uuid, device.host.empty() ? this_host() : device.host},
      modelled_(kind_named(device.kind).modelled) {
  shared.health.add(called(device));
  shared.roll.add();
}

void Lane::start() {
  thread_ = std::thread([this] {
    do serve_while_open();
    while (wait_to_return());
  });
}

// ---- Opening and leaving

void Lane::serve_while_open() {
  bool open = false;
  try {
    const int asked = options_.device_threads;
    const std::string threads = std::to_string(asked > 0 ? asked : threads_of_device(shared_.compile_workers));
    WorkerClient device(worker_options(options_, {"device", options_.device.id, threads}, &shared_.stop));
    DeviceJudging judging(options_, shared_.plan, shared_.judged_there, shared_.pool);
    device.start();
    announce_open();
    open = true;
    judging.make_ready(device);
    ExtraOracles extra(options_, shared_.plan, &shared_.stop, shared_.further);
    NoiseFloor floor(options_, shared_.calibration, shared_.plan, shared_.oracles, &shared_.stop, shared_.honest);
    Validation validation(
        {options_, shared_.calibration, shared_.plan, shared_.oracles, extra, floor, device, &judging});
    emulate_while_idle(floor);
    while (next_job(device)) run_job(validation);
  } catch (const Stopped&) {
    // Nobody waits any more.
  } catch (...) {
    leave(open, std::current_exception());
  }
}

void Lane::announce_open() {
  const std::lock_guard lock(shared_.mutex);
  if (shared_.roll.enter(number_)) {
    shared_.health.serves(number_);
    if (options_.notice) options_.notice(fmt::format("{} is back", called(options_.device)));
  }
  shared_.changed.notify_all();
}

/// Finds what the emulation errs by while no candidate is there yet: during a pre-search. A virtual GPU would take the
/// cores that the pre-search needs.
void Lane::emulate_while_idle(NoiseFloor& floor) {
  const bool is_needed = limits_of(options_.task, options_.target).follow_emulation() ||
                         (shared_.calibration && !shared_.calibration->average.empty());
  if (!is_needed || kind_named(options_.device.kind).on_host) return;
  const std::vector<Case>& cases = shared_.plan.cases;
  for (std::size_t i = 0; i < cases.size() && is_idle(); ++i)
    floor.emulation_error(cases[i], *shared_.oracles.get(i), 0);
}

bool Lane::is_idle() const {
  const std::lock_guard lock(shared_.mutex);
  return shared_.is_idle();
}

/// The device is of no more use. Its work goes to the others; without any the pipeline has ended. At first a device of
/// this host must open, one of another host may be missing.
void Lane::leave(bool open, const std::exception_ptr& why) {
  const std::lock_guard lock(shared_.mutex);
  LaneRoll& roll = shared_.roll;
  if (!roll.leave(number_, why, open, !options_.device.reached_by.empty())) return;
  shared_.health.leaves(number_);
  give_job_back();
  // With one lane left there is no other to choose.
  if (roll.serving() == 1) {
    for (CandidateJob& job : shared_.returned) job.failed_on.reset();
  }
  if (roll.fatal()) {
    shared_.comparisons.fail_all(why);
  } else {
    shared_.comparisons.fail_those_of(number_, why);
  }
  if (!roll.is_over() && options_.notice) options_.notice(farewell(options_.device, why));
  shared_.changed.notify_all();
}

/// With the lock held.
void Lane::give_job_back() {
  const bool admitted = admitting_;
  if (admitted) {
    shared_.clock.end_wait();
    set_admitting(false);
  }
  if (!job_) return;
  if (admitted) {
    shared_.jobs.push_front(*std::move(job_));
  } else {
    shared_.returned.push_back(*std::move(job_));
  }
  job_.reset();
}

/// Whether a device of another host that was lost is to be opened again. False: not this one, or nobody needs it.
bool Lane::wait_to_return() const {
  Lock lock(shared_.mutex);
  if (!shared_.roll.has_left(number_) || options_.device.reached_by.empty() || shared_.health.is_unfit(number_))
    return false;
  const auto pause = std::chrono::duration<double>(options_.return_s);
  return !shared_.changed.wait_for(lock, pause, [this] { return shared_.closing || shared_.roll.fatal(); });
}

// ---- What to do next

/// Gives the lane the next candidate that has to run. Comparisons that no lane works on come first; a lane without a
/// candidate joins one that another works on. Candidates are looked at in the order of submission, by one lane at a
/// time: which of two equal ones is the duplicate does not depend on which device is faster. False: the pipeline
/// closes.
bool Lane::next_job(WorkerClient& device) {
  while (true) {
    Lock lock(shared_.mutex);
    const auto may_admit = [this] { return !shared_.admitting && !shared_.jobs.empty(); };
    shared_.clock.begin_wait();
    shared_.changed.wait(lock, [&] {
      return shared_.closing || next_comparison() != nullptr || returned_job() != shared_.returned.end() || may_admit();
    });
    shared_.clock.end_wait();
    if (shared_.closing) return false;
    const QueuedTiming* const comparison = next_comparison();
    if (comparison != nullptr && comparison->lanes_at_work == 0) {
      compare(*comparison, device, lock);
    } else if (const auto returned = returned_job(); returned != shared_.returned.end()) {
      job_ = std::move(*returned);
      shared_.returned.erase(returned);
      return true;
    } else if (!may_admit()) {
      compare(*comparison, device, lock);
    } else if (admit_next(lock)) {
      return true;
    }
  }
}

/// Of modelled times one round is enough.
const QueuedTiming* Lane::next_comparison() const {
  return shared_.comparisons.next_for(number_, !modelled_);
}

std::deque<CandidateJob>::iterator Lane::returned_job() const {
  return std::ranges::find_if(shared_.returned, [this](const CandidateJob& job) { return job.failed_on != number_; });
}

/// Unlocks while it times. When the lane fails, another one goes on with the comparison.
void Lane::compare(const QueuedTiming& comparison, WorkerClient& device, Lock& lock) {
  const std::shared_ptr<SharedTiming> timing = comparison.timing;
  shared_.comparisons.begin(*timing);
  lock.unlock();
  Stopwatch watch;
  const auto count_time = [&] {
    const std::lock_guard again(shared_.mutex);
    shared_.clock.times.comparison_s += watch.lap_s();
  };
  std::exception_ptr failure;
  try {
    std::vector<BuiltCandidate> candidates;
    for (const Candidate& candidate : timing->candidates()) {
      candidates.push_back({&candidate, binaries_of(candidate, shared_.pool, shared_.options.device)});
      const std::lock_guard again(shared_.mutex);
      candidates.back().at_full_clock = shared_.ranked.ran_at_full_clock(candidate.source_hash());
    }
    shared_.oracles.wait_until_finished();  // Nothing else runs on the device.
    time_interleaved(options_, shared_.plan, device, candidates, timing->rounds(), timing->taker());
    count_time();  // Whoever waits for the end decides by it whether there is time for another.
    timing->end();
  } catch (...) {
    failure = std::current_exception();
  }
  count_time();
  lock.lock();
  shared_.comparisons.leave(*timing);
  shared_.changed.notify_all();
  lock.unlock();
  if (failure) std::rethrow_exception(failure);
}

/// Looks at the next job in order, unlocked. True: the job is to run.
bool Lane::admit_next(Lock& lock) {
  set_admitting(true);
  job_ = std::move(shared_.jobs.front());
  shared_.jobs.pop_front();
  shared_.clock.begin_wait();
  lock.unlock();
  const bool runs = admit();
  lock.lock();
  shared_.clock.end_wait();
  set_admitting(false);
  shared_.changed.notify_all();
  if (!runs) job_.reset();
  return runs;
}

/// With the lock held.
void Lane::set_admitting(bool admitting) {
  admitting_ = shared_.admitting = admitting;
  shared_.clock.set_admitting(admitting);
}

/// False: the job's result is reported, or will be with that of an equal one under way.
bool Lane::admit() {
  if (is_known(Shared::source)) return false;
  if (job_->illegal) {
    settle(ended_by(*job_->illegal));
    return false;
  }
  Stopwatch watch;
  if (job_->compiled.empty()) start_compiling(*job_, shared_.pool, shared_.options.device);  // It followed another one.
  finish_building(*job_, shared_.options.device);
  job_->built.phases.waiting_s = watch.lap_s();
  if (job_->built.verdict != Verdict::valid) {
    settle(std::move(job_->built));
    return false;
  }
  job_->binary_key = key_of_builds(job_->candidate, job_->built.builds);
  if (is_known(Shared::cubin)) return false;
  const std::lock_guard lock(shared_.mutex);
  shared_.known.begin(*job_);
  return true;
}

// ---- One candidate

/// Whether an equal candidate is known. Its result, if there is one yet, is then this one's.
bool Lane::is_known(Shared shared) {
  const std::lock_guard lock(shared_.mutex);
  KnownCandidates::Match match = shared_.known.match(shared, *job_);
  if (match.result) {
    shared_.report(*std::move(match.result));
    shared_.health.interrupt_row(number_);
  }
  return match.found;
}

/// The result of a candidate that does not run.
void Lane::settle(Evaluation evaluation) {
  const std::lock_guard lock(shared_.mutex);
  shared_.health.watch_harness(number_, evaluation);
  shared_.known.settle(*job_, evaluation);
  shared_.report({job_->ticket, std::move(evaluation)});
}

void Lane::run_job(Validation& validation) {
  Evaluation evaluation = evaluate(validation);
  const std::lock_guard lock(shared_.mutex);
  shared_.health.watch_harness(number_, evaluation);
  shared_.health.watch_failures(number_, evaluation);  // The candidate that shows it runs elsewhere.
  finish(std::move(evaluation));
}

Evaluation Lane::evaluate(Validation& validation) {
  std::optional<ToBeat> to_beat;
  if (options_.competing) {
    const std::lock_guard lock(shared_.mutex);
    to_beat = shared_.ranked.to_beat();
  }
  Evaluation evaluation = validation.evaluate(job_->candidate, job_->binaries, to_beat);
  evaluation.builds = job_->built.builds;
  evaluation.residency = job_->built.residency;
  evaluation.phases.waiting_s = job_->built.phases.waiting_s;
  evaluation.ran_on = place_;
  if (evaluation.verdict == Verdict::valid) read_counters(evaluation);
  return evaluation;
}

/// Those of every Nth valid candidate, N being profile_every. What hinders it once hinders it ever after, and is said
/// once.
void Lane::read_counters(Evaluation& evaluation) {
  if (options_.profile_every == 0 || shared_.counters_hindered || shared_.valid++ % options_.profile_every != 0) return;
  if (!profiler_) profiler_.emplace(options_, &shared_.stop);
  try {
    Profiler::Result result = profiler_->profile(job_->candidate, job_->binaries);
    if (auto* profiles = std::get_if<std::vector<Profile>>(&result)) evaluation.profiles = std::move(*profiles);
  } catch (const Error& error) {
    if (!shared_.counters_hindered.exchange(true) && options_.notice) options_.notice(error.what());
  }
}

/// With the lock held. Reports the result of the job. What the machine failed runs once more on another device.
void Lane::finish(Evaluation evaluation) {
  shared_.clock.times.validation_s += evaluation.phases.validation_s;
  shared_.clock.times.timing_s += evaluation.phases.timing_s;
  CandidateJob job = *std::move(job_);
  job_.reset();
  if (evaluation.verdict == Verdict::harness_failed && !job.failed_on && shared_.roll.serving() > 1) {
    job.failed_on = number_;
    shared_.returned.push_back(std::move(job));
    shared_.changed.notify_all();
    return;
  }
  if (evaluation.verdict == Verdict::valid) shared_.ranked.add(job.source_key, evaluation);
  KnownCandidates::Followers followers = shared_.known.finish(job, evaluation);
  shared_.report({job.ticket, std::move(evaluation)});
  for (Evaluator::Done& duplicate : followers.duplicates) shared_.report(std::move(duplicate));
  auto& own = followers.of_their_own;
  for (auto one = own.rbegin(); one != own.rend(); ++one) shared_.jobs.push_front(std::move(*one));
}

}  // namespace evo
