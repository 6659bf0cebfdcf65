#include "evaluator/pipeline/case_runs.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "evaluator/base/stopwatch.h"
#include "evaluator/base/thread_pool.h"

namespace evo {
namespace {

/// Cases that are compared here at once while further ones run, and the bytes of their outputs.
constexpr std::size_t kComparedAtOnce = 48;
constexpr std::uint64_t kComparedBytes = 256 << 20;
/// To wake a thread takes as long as to compare 100 KB, so it is given so many bytes at a time, unless answers come as
/// slowly as that.
constexpr std::uint64_t kBatchBytes = 1 << 20;
constexpr double kSlowAnswerSeconds = 0.001;

std::size_t compared_at_once(std::uint64_t output_bytes) {
  return std::clamp<std::size_t>(kComparedBytes / std::max<std::uint64_t>(output_bytes, 1), 1, kComparedAtOnce);
}

}  // namespace

/// A case that has run, and its comparison, which may go on in another thread. It is waited for in any case.
struct CaseRuns::Comparing {
  CaseStep step;
  std::optional<Failure> unrepeatable;
  std::future<ComparedCase> compared;

  Comparing(const CaseStep& of, std::optional<Failure> difference, std::future<ComparedCase> result)
      : step(of), unrepeatable(std::move(difference)), compared(std::move(result)) {}
  Comparing(Comparing&&) = default;
  Comparing& operator=(Comparing&&) = delete;
  ~Comparing() {
    if (compared.valid()) compared.wait();
  }

  bool is_ready() const { return compared.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
};

/// Comparisons that another thread does one after the other. What was not started is dropped.
class CaseRuns::Batch {
 public:
  using Task = std::packaged_task<ComparedCase()>;

  std::uint64_t bytes() const { return bytes_; }
  std::future<ComparedCase> add(Task task, std::uint64_t bytes) {
    bytes_ += bytes;
    return tasks_.emplace_back(std::move(task)).get_future();
  }
  void start() {
    if (tasks_.empty()) return;
    shared_pool().post([tasks = std::make_shared<std::vector<Task>>(std::exchange(tasks_, {}))] {
      for (Task& task : *tasks) task();
    });
    bytes_ = 0;
  }

 private:
  std::vector<Task> tasks_;
  std::uint64_t bytes_ = 0;
};

std::optional<Failure> CaseRuns::run(const std::vector<CaseStep>& steps) {
  std::size_t sent = 0;
  std::optional<std::size_t> doubtful;  // The host has to judge it.
  const auto judged_there = [&](std::size_t number) { return number != doubtful && is_judged_there(steps[number]); };
  std::deque<Comparing> comparing;
  Batch batch;
  for (std::size_t done = 0; done < steps.size(); ++done) {
    while (sent < steps.size() && worker_.has_room()) {
      if (auto failure = send(steps[sent], judged_there(sent), sent == doubtful)) return failure;
      ++sent;
    }
    Stopwatch watch;
    auto ran = worker_.expect<protocol::Ran>();
    const bool slow = watch.lap_s() > kSlowAnswerSeconds;
    if (ran.failure) {
      batch.start();
      if (auto earlier = judge(comparing, 0)) return earlier;
      return failure_at(candidate_, *steps[done].one, std::move(*ran.failure));
    }
    const std::size_t at_once = compared_at_once(ran.reply.outputs.size());
    if (judged_there(done)) {
      auto found = judge_.compared(*steps[done].one, ran.reply.sums);
      if (!found) {
        if (ran.reply.sums.empty()) setup_.judging->lose(*steps[done].number);
        if (auto failure = worker_.forget_requests())
          return failure_at(candidate_, *steps[done].one, *std::move(failure));
        doubtful = sent = done--;
        continue;
      }
      std::promise<ComparedCase> promise;
      promise.set_value(*std::move(found));
      comparing.emplace_back(steps[done], std::move(ran.reply.unrepeatable), promise.get_future());
    } else {
      comparing.push_back(compare_in(batch, steps[done], std::move(ran.reply)));
    }
    const bool last = done + 1 == steps.size();
    if (last || slow || batch.bytes() >= kBatchBytes || comparing.size() >= at_once) batch.start();
    if (auto failure = judge(comparing, last ? 0 : at_once)) return failure;
  }
  return std::nullopt;
}

bool CaseRuns::is_judged_there(const CaseStep& step) const {
  return step.number && setup_.judging != nullptr && setup_.judging->judges(*step.number);
}

/// `again`: what comes back must be what has been judged there.
std::optional<Failure> CaseRuns::send(const CaseStep& step, bool judged_there, bool again) {
  const bool repeated = step.number && setup_.options.task.deterministic &&
                        std::ranges::binary_search(setup_.plan.repeated, *step.number);
  const std::uint32_t repeats = repeated ? kRepeats : 1;
  if (judged_there) return worker_.send_case(*step.one, repeats, judge_.compared_there(*step.one));
  const bool as_before = again && setup_.options.task.deterministic;
  return worker_.send_case(*step.one, repeats,
                           as_before ? CandidateWorker::Watch::last_run : CandidateWorker::Watch::none);
}

/// The oracles of further seeds are asked for here: one thread uses them.
CaseRuns::Comparing CaseRuns::compare_in(Batch& batch, const CaseStep& step, protocol::Ran ran) {
  const bool comes = step.number && setup_.oracles.has_or_gets(*step.number);
  std::shared_ptr<const Expected> further = comes ? nullptr : setup_.extra.get(*step.one);
  const std::uint64_t bytes = ran.outputs.size();
  Batch::Task task([this, step, further = std::move(further), outputs = std::move(ran.outputs)]() mutable {
    return judge_.compare(*step.one, further ? further : setup_.oracles.get(*step.number), std::move(outputs));
  });
  return {step, std::move(ran.unrepeatable), batch.add(std::move(task), bytes)};
}

/// Judges cases in the order in which they ran: all that are compared, and more until `most` are left.
std::optional<Failure> CaseRuns::judge(std::deque<Comparing>& comparing, std::size_t most) {
  while (!comparing.empty() && (comparing.size() > most || comparing.front().is_ready())) {
    Comparing first = std::move(comparing.front());
    comparing.pop_front();
    if (auto failure = judge(std::move(first))) return failure;
  }
  return std::nullopt;
}

std::optional<Failure> CaseRuns::judge(Comparing first) {
  const auto& [one, number] = first.step;
  ComparedCase compared = first.compared.get();
  CaseJudge::Check check = judge_.judge(*one, compared, !number);
  for (ComparedOutput& output : compared.outputs) setup_.device.keep(std::move(output.got));
  if (check.failure) {
    if (!number && check.failure->mismatch) check.failure->mismatch->found = MismatchFound::on_more_seeds;
    return std::move(check.failure);
  }
  if (number) close_.add(*number, check.closeness, check.further_draws);
  if (first.unrepeatable) return failure_at(candidate_, *one, *std::move(first.unrepeatable));
  return std::nullopt;
}

}  // namespace evo
