#include "cli/run/elite_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/subject/known_attacks.h"
#include "cli/subject/restore.h"
#include "cli/text/result_text.h"
#include "cli/text/terminal.h"
#include "engine/base/error.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/cores.h"
#include "evaluator/worker/worker_client.h"

namespace evo::cli {
namespace {

/// Most elites are displaced within so many answers: few are checked in vain, and for few results a search must wait.
constexpr std::uint64_t kToldEvery = 16;

CheckedElite unchecked(const std::string& why) {
  CheckedElite checked;
  for (const std::string_view name : kEliteChecks)
    checked.checks.push_back({std::string(name), EliteCheck::Outcome::impossible, why});
  return checked;
}

}  // namespace

EliteCheckRunner::EliteCheckRunner(const PreparedRun& run, std::shared_ptr<BinaryCache> binaries,
                                   DevicePipeline& pipeline)
    : task_(run.task),
      salt_(run.info.salt),
      modelled_(kind_named(run.device.kind).modelled),
      watching_(watching_device(run.info.device)),
      device_name_(run.device.name),
      binaries_(std::move(binaries)),
      pipeline_(pipeline),
      thread_([this] { work(); }) {}

EliteCheckRunner::~EliteCheckRunner() {
  stop_ = true;
  jobs_.close();
  thread_.join();
}

EliteChecks EliteCheckRunner::checks(const Store& store, const std::atomic<bool>& stop,
                                     const std::function<void(const std::string&)>& notice) {
  return {.start = [this, &store](CandidateId elite) { return start(store, elite); },
          .every = modelled_ ? kToldEvery : 0,
          .stop = &stop,
          .found =
              [notice](CandidateId elite, const EliteFinding& finding) {
                const std::string reason = reason_text(finding.reason, finding.mismatch, {});
                notice(fmt::format("candidate {} is no elite any more: {}: {}", elite, name_of(finding.verdict),
                                   one_line(reason)));
              },
          .notice = notice};
}

std::future<CheckedElite> EliteCheckRunner::start(const Store& store, CandidateId elite) {
  Job job;
  job.elite = elite;
  std::future<CheckedElite> result = job.result.get_future();
  try {
    const Restored restored = restore(store, elite);
    job.claim = claim_of(restored);
    job.source_hash = restored.row.source_hash;
    job.database = store.path();
    job.known = further_attacks(store, task_);
  } catch (const Error& error) {
    job.result.set_value(unchecked(error.what()));
    return result;
  }
  jobs_.push(std::move(job));
  return result;
}

void EliteCheckRunner::work() {
  // The threads and processes of the pipeline inherit it. Where the search waits for checks they must not come last.
  if (!modelled_) yield_cores();
  const std::vector<Check> checks = make_checks();
  while (std::optional<Job> job = jobs_.next()) {
    const auto begun = std::chrono::steady_clock::now();
    try {
      CheckedElite checked = check(checks, *job);
      took(std::chrono::steady_clock::now() - begun);
      job->result.set_value(std::move(checked));
    } catch (const Stopped&) {
      const std::lock_guard lock(mutex_);
      job->result.set_exception(std::make_exception_ptr(
          machine_error(fmt::format("{} ({}); evo verify ID makes the checks of one", why_ended_, standing_))));
    } catch (...) {
      job->result.set_exception(std::current_exception());
    }
    stand({});
  }
  trials_.reset();
  attack_.reset();
}

std::string EliteCheckRunner::standing() const {
  const std::lock_guard lock(mutex_);
  return standing_;
}

std::optional<std::chrono::steady_clock::duration> EliteCheckRunner::longest() const {
  const std::lock_guard lock(mutex_);
  return longest_;
}

void EliteCheckRunner::took(std::chrono::steady_clock::duration time) {
  const std::lock_guard lock(mutex_);
  longest_ = std::max(longest_.value_or(time), time);
}

void EliteCheckRunner::stand(std::string standing) {
  const std::lock_guard lock(mutex_);
  standing_ = std::move(standing);
}

void EliteCheckRunner::end(const std::string& why) {
  const std::lock_guard lock(mutex_);
  why_ended_ = why;
  stop_ = true;
}

std::vector<EliteCheckRunner::Check> EliteCheckRunner::make_checks() {
  if (!watching_) return {};
  // Of a search on a GPU only a core is taken: others predict latencies.
  trials_ = std::make_unique<FurtherTrials>(
      FurtherTrials::Options{.device = *watching_,
                             .device_threads = modelled_ ? 0 : 1,
                             .binaries = binaries_,
                             .stop = &stop_,
                             .progress = [this](std::size_t judged, std::size_t all) {
                               stand(fmt::format("{}, {} of {} shapes", check_, judged, all));
                             }});
  attack_ = std::make_unique<EliteAttack>(EliteAttack::Options{
      .device = *watching_, .device_threads = modelled_ ? 0 : 1, .salt = salt_, .binaries = binaries_, .stop = &stop_});
  return {{"under the sanitiser", [this](const Job& job, auto& finding) { return trials_->watch(job.claim, finding); }},
          {"sizes that nobody listed",
           [this](const Job& job, auto& finding) { return trials_->try_sizes(job.claim, finding); }},
          {"a short attack", [this](const Job& job, auto& finding) { return attack(job, finding); }}};
}

/// What is found is in the database before the elite is gone: a resumed run tries it first.
EliteCheck EliteCheckRunner::attack(const Job& job, std::optional<EliteFinding>& finding) {
  EliteAttack::Result result = attack_->attack(job.claim, job.known);
  if (result.kept) Store::open(job.database, Store::Mode::change).record_attack(*std::move(result.kept));
  finding = std::move(result.finding);
  return std::move(result.check);
}

CheckedElite EliteCheckRunner::check(const std::vector<Check>& checks, const Job& job) {
  CheckedElite checked;
  if (checks.empty()) checked = unchecked(fmt::format("no virtual GPU is like {}", device_name_));
  for (const Check& one : checks) {
    check_ = fmt::format("candidate {}: {}", job.elite, one.name);
    stand(check_);
    if (stop_) throw Stopped();
    EliteCheck made = one.make(job, checked.finding);
    if (checked.finding) break;
    checked.checks.push_back(std::move(made));
  }
  if (!checked.finding && job.claim.by_edits) checked.finding = why_edits_are_unproven(checked.checks);
  if (checked.finding) pipeline_.disqualify(job.source_hash);
  return checked;
}

}  // namespace evo::cli
