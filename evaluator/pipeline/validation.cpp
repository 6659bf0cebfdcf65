#include "evaluator/pipeline/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/mean.h"
#include "engine/device/device_kind.h"
#include "engine/task/limits.h"
#include "evaluator/base/stopwatch.h"
#include "evaluator/base/thread_pool.h"
#include "evaluator/compile/compiler.h"
#include "evaluator/pipeline/comparison.h"
#include "evaluator/pipeline/gates.h"
#include "evaluator/pipeline/output_comparison.h"
#include "evaluator/pipeline/pooled_draws.h"
#include "evaluator/pipeline/wrong_answer.h"

namespace evo {
namespace {

/// Runs of a case whose outputs must agree bitwise.
constexpr std::uint32_t kRepeats = 3;
/// Requests on their way: while the answer to one is read here, the next ones run in the worker. A candidate that has
/// failed waits for all of them, so few are sent whose outputs are large.
constexpr std::size_t kFewestInFlight = 2, kMostInFlight = 8;
constexpr std::uint64_t kBytesInFlight = 64 << 20;
/// Cases that are compared here at once while further ones run, and the bytes of their outputs.
constexpr std::size_t kComparedAtOnce = 48;
constexpr std::uint64_t kComparedBytes = 256 << 20;
/// To wake a thread takes as long as to compare 100 KB, so it is given so many bytes at a time, unless answers come as
/// slowly as that.
constexpr std::uint64_t kBatchBytes = 1 << 20;
constexpr double kSlowAnswerSeconds = 0.001;
/// An error of more than this part of its limit is checked on further seeds, in so many cases.
constexpr double kClose = 0.9;
constexpr std::size_t kConfirmedCases = 2;
/// So many times the latency to beat is plainly too slow: single timings of one kernel differ by less, under a power
/// limit and without one.
constexpr double kHopeless = 1.2, kHopelessAtFullClock = 1.05;
/// One that takes no more than so many times as long may turn out to be better.
constexpr double kContender = 1.02;
/// Each cold launch needs a flush of L2. Cold latencies are reported, not searched for, so few samples are enough.
constexpr int kColdSamples = 50;
constexpr double kColdShare = 0.25;
/// Cold launches leave the GPU mostly idle: its clocks only have to rise, and they follow a warm timing.
constexpr double kColdWarmUpSeconds = 0.002;

/// Elements of an output whose error is described.
constexpr std::uint64_t kLookedAt = 1 << 20;

std::string name_of_case(const Case& one) {
  return fmt::format("shape {}, regime {}, seed {}", one.shape.name, one.regime.name, one.seed);
}

/// How many further seeds a case gets whose error came close to a limit. Over tens of millions of outputs the error
/// hardly depends on the seed, and each run costs a tenth of a second or more: there one seed is enough.
int more_seeds(std::uint64_t output_bytes) {
  constexpr std::uint64_t kMost = 4;
  constexpr std::uint64_t kBytes = 32 << 20;  // of outputs, all seeds together
  return static_cast<int>(std::clamp<std::uint64_t>(kBytes / output_bytes, 1, kMost));
}

std::size_t compared_at_once(std::uint64_t output_bytes) {
  return std::clamp<std::size_t>(kComparedBytes / std::max<std::uint64_t>(output_bytes, 1), 1, kComparedAtOnce);
}

/// One candidate's way through the gates, with one worker process.
class Trial {
 public:
  Trial(const ValidationSetup& setup, const Candidate& candidate, std::uint64_t first_module,
        const std::optional<ToBeat>& to_beat)
      : setup_(setup),
        kind_(kind_named(setup.options.device.kind)),
        candidate_(candidate),
        limits_(limits_of(setup.options.task, setup.options.target)),
        first_module_(first_module),
        to_beat_(to_beat) {}

  Evaluation run(const std::vector<Binary>& binaries) {
    Stopwatch watch;
    std::optional<Failure> failure = load(binaries);
    if (!failure) failure = validate();
    if (!failure) failure = confirm();
    if (!failure) failure = sanitise();
    evaluation_.phases.validation_s = watch.lap_s();
    if (!failure) {
      failure = measure();
      evaluation_.phases.timing_s = watch.lap_s();
    }
    retry_ = lost_without_blame_;
    settle();
    if (failure) {
      evaluation_.verdict = failure->verdict;
      evaluation_.reason = std::move(failure->reason);
      evaluation_.mismatch = std::move(failure->mismatch);
    } else {
      evaluation_.verdict = Verdict::valid;
      evaluation_.latency_us = objective();
    }
    return std::move(evaluation_);
  }

  /// The worker was lost in a way that says nothing about the candidate.
  bool wants_retry() const { return retry_; }

 private:
  std::optional<Failure> load(const std::vector<Binary>& binaries) {
    for (std::size_t i = 0; i < binaries.size(); ++i) {
      send(protocol::Load{first_module_ + i, binaries[i], candidate_.programs[i].plans}, 0);
      if (auto failure = expect<protocol::Done>(setup_.options.run_deadline_s).failure)
        return translated(*std::move(failure), candidate_.programs[i]);
    }
    return std::nullopt;
  }

  std::optional<Failure> validate() {
    // The smoke case goes alone: most of what is wrong ends there.
    if (auto failure = run_all({{&setup_.plan.cases[setup_.plan.smoke], setup_.plan.smoke}})) return failure;
    std::vector<Step> steps;
    for (std::size_t i = 0; i < setup_.plan.cases.size(); ++i)
      if (i != setup_.plan.smoke) steps.push_back({&setup_.plan.cases[i], i});
    // Where runs may differ, each of them is checked against the oracle instead.
    if (!setup_.options.task.deterministic) {
      for (const std::size_t number : setup_.plan.repeated)
        steps.insert(steps.end(), kRepeats - 1, {&setup_.plan.cases[number], number});
    }
    return run_all(steps);
  }

  /// A case to run.
  struct Step {
    const Case* one = nullptr;
    std::optional<std::size_t> number;  ///< In the plan; empty: a seed beyond its grid.
  };

  /// While the answer to one case is compared, the next ones run. They are judged in their order.
  std::optional<Failure> run_all(const std::vector<Step>& steps) {
    std::size_t sent = 0;
    std::deque<Comparing> comparing;
    Batch batch;
    for (std::size_t done = 0; done < steps.size(); ++done) {
      while (sent < steps.size() && has_room_for_request()) {
        if (auto failure = send_step(steps[sent++])) return failure;
      }
      Stopwatch watch;
      auto ran = expect<protocol::Ran>(setup_.options.run_deadline_s);
      const bool slow = watch.lap_s() > kSlowAnswerSeconds;
      if (ran.failure) {
        batch.start();
        if (auto earlier = judge(comparing, 0)) return earlier;
        return at(*steps[done].one, std::move(*ran.failure));
      }
      const std::uint64_t bytes = ran.reply.outputs.size();
      comparing.push_back(compare_in(batch, steps[done], std::move(ran.reply)));
      const bool last = done + 1 == steps.size();
      const std::size_t at_once = compared_at_once(bytes);
      if (last || slow || batch.bytes() >= kBatchBytes || comparing.size() >= at_once) batch.start();
      if (auto failure = judge(comparing, last ? 0 : at_once)) return failure;
    }
    return std::nullopt;
  }

  bool has_room_for_request() const {
    if (payloads_.size() < kFewestInFlight) return true;
    return payloads_.size() < kMostInFlight &&
           std::reduce(payloads_.begin(), payloads_.end(), std::uint64_t{0}) < kBytesInFlight;
  }

  /// Every output of one case, beside its oracle.
  struct Comparison {
    bool has_right_size = false;
    std::shared_ptr<const Expected> expected;
    std::vector<ComparedOutput> outputs;
    std::vector<EmulationError> honest;  ///< By output.
  };

  /// A case that has run, and its comparison, which may go on in another thread. It is waited for in any case.
  struct Comparing {
    Step step;
    std::optional<Failure> unrepeatable;
    std::future<Comparison> comparison;

    Comparing(const Step& of, std::optional<Failure> difference, std::future<Comparison> result)
        : step(of), unrepeatable(std::move(difference)), comparison(std::move(result)) {}
    Comparing(Comparing&&) = default;
    Comparing& operator=(Comparing&&) = delete;
    ~Comparing() {
      if (comparison.valid()) comparison.wait();
    }
  };

  /// Comparisons that another thread does one after the other. What was not started is dropped.
  class Batch {
   public:
    using Task = std::packaged_task<Comparison()>;

    std::uint64_t bytes() const { return bytes_; }
    std::future<Comparison> add(Task task, std::uint64_t bytes) {
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

  /// The oracles of further seeds are asked for here: one thread uses them.
  Comparing compare_in(Batch& batch, const Step& step, protocol::Ran ran) {
    std::shared_ptr<const Expected> further = step.number ? nullptr : setup_.extra.get(*step.one);
    const std::uint64_t bytes = ran.outputs.size();
    Batch::Task task([this, step, further = std::move(further), outputs = std::move(ran.outputs)]() mutable {
      return compare(*step.one, step.number ? setup_.oracles.get(*step.number) : further, std::move(outputs));
    });
    return {step, std::move(ran.unrepeatable), batch.add(std::move(task), bytes)};
  }

  /// Judges cases in the order in which they ran: all that are compared, and more until `most` are left.
  std::optional<Failure> judge(std::deque<Comparing>& comparing, std::size_t most) {
    while (!comparing.empty()) {
      const bool compared = comparing.front().comparison.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
      if (!compared && comparing.size() <= most) break;
      Comparing first = std::move(comparing.front());
      comparing.pop_front();
      const auto& [one, number] = first.step;
      Comparison comparison = first.comparison.get();
      OutputCheck check = judge(*one, comparison, !number);
      for (ComparedOutput& output : comparison.outputs) setup_.device.keep(std::move(output.got));
      if (check.failure) {
        if (!number && check.failure->mismatch) check.failure->mismatch->found = MismatchFound::on_more_seeds;
        return check.failure;
      }
      if (number && check.closeness > kClose) close_.push_back({*number, check.closeness, check.further_draws});
      if (first.unrepeatable) return at(*one, std::move(*first.unrepeatable));
    }
    return std::nullopt;
  }

  /// Races and reads of unwritten memory do not depend on the numbers, so one case of the cheapest shape and of each
  /// timed one is enough.
  std::optional<Failure> sanitise() {
    if (!kind_.sanitises) return std::nullopt;
    std::vector<std::size_t> watched = {setup_.plan.smoke};
    for (const TimedShape& timed : setup_.plan.timed)
      if (!timed.rotation.empty() && timed.rotation.front() != setup_.plan.smoke)
        watched.push_back(timed.rotation.front());
    for (const std::size_t number : watched) {
      const Case& one = setup_.plan.cases[number];
      if (auto failure = send_case(one, 1, Watch::sanitiser)) return failure;
      auto ran = expect<protocol::Ran>(setup_.options.run_deadline_s);
      if (ran.failure) return at(one, std::move(*ran.failure));
    }
    return std::nullopt;
  }

  /// How far one draw of a case lies below its limit is partly luck. Where the worst draws came close to a limit, and
  /// wherever an ill-conditioned draw was set aside, other seeds are checked too.
  std::optional<Failure> confirm() {
    const std::vector<Case> cases = further_cases();
    std::vector<Step> steps;
    for (const Case& one : cases) steps.push_back({&one, std::nullopt});
    if (auto failure = run_all(steps)) return failure;
    if (auto mismatch = pooled_.mismatch()) return wrong_answer_of(*std::move(mismatch));
    return std::nullopt;
  }

  std::vector<Case> further_cases() {
    std::ranges::stable_sort(close_, std::ranges::greater(), &Close::closeness);
    std::vector<std::pair<std::string, std::string>> confirmed;  // shape and regime
    std::vector<Case> cases;
    for (const Close& close : close_) {
      const Case& one = setup_.plan.cases[close.number];
      std::pair key(one.shape.name, one.regime.name);
      if (confirmed.size() >= kConfirmedCases && close.closeness <= 1) break;
      if (std::ranges::find(confirmed, key) != confirmed.end()) continue;
      confirmed.push_back(std::move(key));
      const int seeds =
          close.further_draws > 0 ? close.further_draws : more_seeds(protocol::output_bytes(plan_of(one)));
      std::ranges::move(more_cases(setup_.options.task, setup_.options.target, one, setup_.options.salt, seeds),
                        std::back_inserter(cases));
    }
    return cases;
  }

  std::optional<Failure> measure() {
    setup_.oracles.wait_until_finished();
    setup_.extra.rest();
    setup_.floor.rest();
    for (const TimedShape& timed : setup_.plan.timed) {
      if (auto failure = measure(timed, false)) return failure;
    }
    if (!kind_.cold_timing || (to_beat_ && objective() > kContender * to_beat_->us)) return std::nullopt;
    for (const TimedShape& timed : setup_.plan.timed) {
      if (auto failure = measure(timed, true)) return failure;
    }
    return std::nullopt;
  }

  std::optional<Failure> measure(const TimedShape& timed, bool cold) {
    const auto program = program_for(candidate_, timed.shape.name);
    if (!program) return missing_program(timed.shape.name);
    const Plan& plan = candidate_.programs[*program].plans.at(timed.shape.name);
    protocol::Time request{first_module_ + *program, timed.shape.name, {}, timing_request(cold)};
    const std::span<const std::size_t> rotation = rotation_of(timed, plan);
    for (const std::size_t number : rotation) request.rotation.push_back(setup_.plan.cases[number].recipe);
    if (timed.afterwards) request.afterwards = setup_.plan.cases[*timed.afterwards].recipe;
    const std::uint64_t set_bytes = protocol::output_bytes(plan);
    send(std::move(request), set_bytes * (rotation.size() + 1));

    auto answer = expect<protocol::Timed>(setup_.options.run_deadline_s + setup_.options.timing_seconds);
    if (answer.failure) return at_timing(timed, std::move(*answer.failure));
    Timing timing = std::move(answer.reply.timing);
    timing.shape = timed.shape.name;
    if (timing.cold != cold || timing.modelled != kind_.modelled) {
      return Failure{Verdict::harness_failed, "the device timed something else than it was asked to"};
    }
    const double floor_us =
        physical_floor(setup_.options.task, setup_.options.target.options, timed.shape, setup_.options.device, cold)
            .us();
    if (auto failure = check_timing(timing, floor_us)) return failure;
    evaluation_.timings.push_back(std::move(timing));
    return recheck(timed, rotation, answer.reply, set_bytes);
  }

  /// The outputs of the timed launches are compared like any other, unless they are bit for bit an earlier answer.
  std::optional<Failure> recheck(const TimedShape& timed, std::span<const std::size_t> rotation,
                                 const protocol::Timed& reply, std::uint64_t set_bytes) {
    std::vector<std::size_t> cases(rotation.begin(), rotation.end());
    if (timed.afterwards) cases.push_back(*timed.afterwards);
    const auto sent = static_cast<std::uint64_t>(std::ranges::count(reply.as_before, false));
    if (reply.as_before.size() != cases.size() || reply.outputs.size() != set_bytes * sent) {
      return Failure{Verdict::harness_failed, "the timing returned outputs of the wrong size"};
    }
    std::span<const std::byte> outputs(reply.outputs);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (reply.as_before[i]) continue;
      auto failure = check_outputs(cases[i], outputs.first(set_bytes));
      outputs = outputs.subspan(set_bytes);
      if (!failure) continue;
      if (!failure->mismatch) return at_timing(timed, std::move(*failure));
      failure->mismatch->found = i == rotation.size() ? MismatchFound::after_timing : MismatchFound::while_timed;
      return failure;
    }
    return std::nullopt;
  }

  TimingRequest timing_request(bool cold) const {
    TimingRequest request;
    request.cold = cold;
    request.max_seconds = setup_.options.timing_seconds;
    if (to_beat_ && !cold && setup_.plan.timed.size() == 1) {
      request.hopeless_us = (to_beat_->at_full_clock ? kHopelessAtFullClock : kHopeless) * to_beat_->us;
      if (to_beat_->at_full_clock) request.to_beat_us = to_beat_->us;
    }
    if (cold) {
      request.warm_up_seconds = kColdWarmUpSeconds;
      request.min_seconds = 0;
      request.max_samples = kColdSamples;
      request.max_seconds *= kColdShare;
    }
    return request;
  }

  std::optional<Failure> check_outputs(std::size_t number, std::span<const std::byte> outputs) {
    const Case& one = setup_.plan.cases[number];
    return judge(one, compare(one, setup_.oracles.get(number), {outputs.begin(), outputs.end()})).failure;
  }

  struct OutputCheck {
    std::optional<Failure> failure;
    /// Of the output that is closest to a limit. Above 1 without a failure: the case is ill-conditioned and set aside,
    /// or further draws are to tell.
    double closeness = 0;
    int further_draws = 0;  ///< That many, where they are to tell.
  };

  /// Changes nothing: several threads may compare.
  Comparison compare(const Case& one, std::shared_ptr<const Expected> expected, std::vector<std::byte> outputs) const {
    Comparison comparison{false, std::move(expected), {}, {}};
    const Plan& plan = plan_of(one);
    if (outputs.size() != protocol::output_bytes(plan)) return comparison;
    comparison.has_right_size = true;
    const Bindings& choices = setup_.options.target.options;
    std::vector<EmulationError>& honest = comparison.honest;
    const Limits of_regime = limits_for(setup_.calibration, setup_.options.task, limits_, one.regime.name);
    const auto limits_of = [&](const Tensor& output) {
      const Limits limits = limits_of_output(setup_.options.task, output, choices, of_regime);
      honest.push_back(limits.follow_emulation()
                           ? setup_.floor.emulation_error(one, *comparison.expected, honest.size())
                           : EmulationError{});
      return following(limits, honest.back());
    };
    comparison.outputs =
        compare_outputs(setup_.options.task, choices, one, plan, *comparison.expected, std::move(outputs), limits_of);
    return comparison;
  }

  /// Keeps the errors of a case and says whether they are too large. `further`: a draw beyond the grid's.
  OutputCheck judge(const Case& one, const Comparison& comparison, bool further = false) {
    if (!comparison.has_right_size)
      return {Failure{Verdict::harness_failed, name_of_case(one) + ": an answer of the wrong size"}};
    OutputCheck check;
    for (std::size_t i = 0; i < comparison.outputs.size(); ++i) {
      const ComparedOutput& output = comparison.outputs[i];
      const EmulationError& honest = comparison.honest[i];
      const Difference& difference = output.difference;
      const auto miss = miss_of(difference, output.limits);
      check.closeness = std::max(check.closeness, closeness(difference, output.limits));
      const bool open = miss && PooledDraws::leave_open(difference, output.limits, output.rows, further);
      Mismatch mismatch = mismatch_of(one, output, miss, honest);
      if (output.limits.follow_emulation()) pooled_.add(mismatch, difference, output.limits, open);
      if (open)
        check.further_draws = std::max(check.further_draws, PooledDraws::further_draws(difference, output.rows));
      if (miss && !open && setup_.floor.explains(difference, output.limits, one, *comparison.expected, i)) continue;
      evaluation_.errors.push_back({one.shape.name, one.seed, one.regime.name, output.name, difference.relative_l2,
                                    difference.max_abs, difference.cosine});
      evaluation_.worst_relative_l2 = std::max(evaluation_.worst_relative_l2, difference.relative_l2);
      if (miss && !open) {
        mismatch.looks_like = look_of(one, output);
        return {wrong_answer_of(std::move(mismatch))};
      }
    }
    return check;
  }

  static Failure wrong_answer_of(Mismatch mismatch) {
    Failure failure{Verdict::wrong_answer, ""};
    failure.mismatch = std::move(mismatch);
    return failure;
  }

  /// `miss`: empty for an output that is right.
  static Mismatch mismatch_of(const Case& one, const ComparedOutput& output, const std::optional<Miss>& miss,
                              const EmulationError& honest) {
    Mismatch mismatch{one.shape.name, one.regime.name, one.seed, output.name, miss.value_or(Miss{})};
    if (!output.limits.follow_emulation()) return mismatch;
    mismatch.emulation_l2 = honest.relative_l2;
    mismatch.emulation_row = honest.row_l2;
    return mismatch;
  }

  /// The summary of a diagnosis. Very large answers are not looked at: a search must not wait for them.
  std::string look_of(const Case& one, const ComparedOutput& output) const {
    if (output.elements > kLookedAt) return {};
    const auto wrong = wrong_answer(setup_.options.task, setup_.options.target.options, one, output);
    return wrong ? summary(*wrong) : "";
  }

  // ---- Talking to the worker

  void send(protocol::Request request, std::uint64_t payload) {
    setup_.device.send(std::move(request));
    payloads_.push_back(payload);
  }

  std::optional<Failure> send_step(const Step& step) {
    const bool repeated = step.number && setup_.options.task.deterministic &&
                          std::ranges::binary_search(setup_.plan.repeated, *step.number);
    return send_case(*step.one, repeated ? kRepeats : 1);
  }

  enum class Watch : std::uint8_t { none, sanitiser };
  std::optional<Failure> send_case(const Case& one, std::uint32_t repeats, Watch watch = Watch::none) {
    const auto program = program_for(candidate_, one.shape.name);
    if (!program) return missing_program(one.shape.name);
    const Plan& plan = candidate_.programs[*program].plans.at(one.shape.name);
    send(protocol::Run{first_module_ + *program, one.shape.name, one.recipe, repeats, watch == Watch::sanitiser},
         protocol::output_bytes(plan));
    return std::nullopt;
  }

  template <typename T>
  struct Received {
    T reply;
    std::optional<Failure> failure;
  };

  /// The answer to the oldest request, which is good only if it is a T.
  template <typename T>
  Received<T> expect(double deadline_s) {
    const std::uint64_t payload = payloads_.front();
    payloads_.pop_front();
    auto answer = answer_as<T>(setup_.device.receive(deadline_s, payload));
    if (auto* good = std::get_if<T>(&answer)) return {std::move(*good), std::nullopt};
    if (const auto* lost = std::get_if<Lost>(&answer)) return {{}, after_loss(*lost)};
    if (auto* failure = std::get_if<Failure>(&answer)) {
      if (failure->device_lost) abandon_worker();
      return {{}, std::move(*failure)};
    }
    abandon_worker();
    return {{}, Failure{Verdict::harness_failed, std::get<protocol::Broken>(answer).message}};
  }

  Failure after_loss(const Lost& lost) {
    payloads_.clear();
    lost_without_blame_ = lost.blameless && lost.how == Lost::How::crashed;
    return {verdict_of(lost), reason_of(lost)};
  }

  static std::string reason_of(const Lost& lost) {
    switch (lost.how) {
      case Lost::How::timed_out:
        return lost.reason;
      case Lost::How::crashed:
        return "the worker " + was(lost.reason);
      default:
        return "the worker broke the protocol: " + lost.reason;
    }
  }

  static std::string was(const std::string& reason) { return reason.starts_with("killed") ? "was " + reason : reason; }

  void abandon_worker() {
    setup_.device.stop();
    payloads_.clear();
  }

  /// Leaves the worker with nothing on its way and nothing loaded.
  void settle() {
    while (!payloads_.empty()) expect<protocol::Ran>(setup_.options.run_deadline_s);
    for (std::size_t i = 0; setup_.device.running() && i < candidate_.programs.size(); ++i) {
      send(protocol::Unload{first_module_ + i}, 0);
      expect<protocol::Done>(setup_.options.run_deadline_s);
    }
  }

  // ---- Small things

  /// Of a case that has run.
  const Plan& plan_of(const Case& one) const {
    return candidate_.programs[*program_for(candidate_, one.shape.name)].plans.at(one.shape.name);
  }

  static Failure missing_program(const std::string& shape) {
    return {Verdict::harness_failed, "the candidate has no program for shape " + shape};
  }

  Failure at(const Case& one, Failure failure) const {
    failure = in_templates(one.shape, std::move(failure));
    failure.reason = fmt::format("{}: {}", name_of_case(one), failure.reason);
    return failure;
  }

  Failure at_timing(const TimedShape& timed, Failure failure) const {
    failure = in_templates(timed.shape, std::move(failure));
    failure.reason = fmt::format("while timing {}: {}", timed.shape.name, failure.reason);
    return failure;
  }

  Failure in_templates(const Shape& shape, Failure failure) const {
    const auto program = program_for(candidate_, shape.name);
    return program ? translated(std::move(failure), candidate_.programs[*program]) : std::move(failure);
  }

  /// Geometric mean of the warm medians.
  double objective() const {
    std::vector<double> medians_us;
    for (const Timing& timing : evaluation_.timings) {
      if (!timing.cold) medians_us.push_back(timing.median_us);
    }
    return geometric_mean(medians_us);
  }

  const ValidationSetup& setup_;
  const DeviceKind& kind_;
  const Candidate& candidate_;
  const Limits& limits_;
  std::uint64_t first_module_;
  std::optional<ToBeat> to_beat_;
  std::deque<std::uint64_t> payloads_;  ///< Of the requests on their way: the bytes that an answer may bring.
  Evaluation evaluation_;
  /// A case whose error came close to a limit.
  struct Close {
    std::size_t number = 0;
    double closeness = 0;
    int further_draws = 0;  ///< 0: as many as for any other.
  };
  std::vector<Close> close_;
  PooledDraws pooled_;
  bool lost_without_blame_ = false;
  bool retry_ = false;
};

}  // namespace

Evaluation Validation::evaluate(const Candidate& candidate, const std::vector<Binary>& binaries,
                                const std::optional<ToBeat>& to_beat) {
  for (int attempt = 0;; ++attempt) {
    setup_.device.start();
    Trial trial(setup_, candidate, next_module_, to_beat);
    next_module_ += binaries.size();
    Evaluation evaluation = trial.run(binaries);
    if (!trial.wants_retry() || attempt > 0) return evaluation;
    const PipelineOptions& options = setup_.options;
    if (options.notice)
      options.notice(fmt::format("{}: {}; its candidate runs again", called(options.device), evaluation.reason));
  }
}

}  // namespace evo
