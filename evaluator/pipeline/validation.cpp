#include "evaluator/pipeline/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "engine/base/mean.h"
#include "evaluator/pipeline/comparison.h"
#include "evaluator/pipeline/gates.h"

namespace evo {
namespace {

/// Runs of a case whose outputs must agree bitwise.
constexpr std::uint32_t kRepeats = 3;
/// Requests on their way: while one case is compared here, the next one runs there.
constexpr std::size_t kInFlight = 2;
/// An error of more than this part of its limit is looked at again, in so many cases.
constexpr double kClose = 0.9;
constexpr std::size_t kConfirmedCases = 2;
/// A relative error that no ill-conditioned draw excuses.
constexpr double kHopeless = 0.5;
/// Cold launches flush L2 each time; they are reported, not searched for, so fewer do.
constexpr int kColdSamples = 50;
constexpr double kColdShare = 0.25;
/// They are single ones, as of a GPU that has little to do: its clocks only have to rise.
constexpr double kColdWarmUpSeconds = 0.01;

Failure failure_of(Verdict verdict, std::string reason) {
  return {verdict, std::move(reason), false, ""};
}

std::string name_of_case(const Case& one) {
  return fmt::format("shape {}, regime {}, seed {}", one.shape.name, one.regime.name, one.seed);
}

/// Seeds with which a case whose error came close is looked at again. Over tens of millions of outputs an error is a
/// mean that seeds hardly move, and each look costs a tenth of a second and more: there one is enough.
int more_seeds(std::uint64_t output_bytes) {
  constexpr std::uint64_t kMost = 4;
  constexpr std::uint64_t kBytes = 32 << 20;  // of outputs, all looks together
  return static_cast<int>(std::clamp<std::uint64_t>(kBytes / output_bytes, 1, kMost));
}

/// One candidate's way through the gates, with one worker process.
class Trial {
 public:
  Trial(const PipelineOptions& options, const std::optional<Calibration>& calibration, const CasePlan& plan,
        OracleStore& oracles, ExtraOracles& extra, NoiseFloor& floor, WorkerClient& device, const Candidate& candidate,
        std::uint64_t first_module)
      : options_(options),
        calibration_(calibration),
        plan_(plan),
        oracles_(oracles),
        extra_(extra),
        floor_(floor),
        device_(device),
        candidate_(candidate),
        limits_(limits_of(options.task, options.target)),
        first_module_(first_module) {}

  Evaluation run(const std::vector<Binary>& binaries) {
    std::optional<Failure> failure = load(binaries);
    if (!failure) failure = validate();
    if (!failure) failure = confirm();
    if (!failure) failure = sanitise();
    if (!failure) failure = measure();
    retry_ = lost_without_blame_;
    settle();
    if (failure) {
      evaluation_.verdict = failure->verdict;
      evaluation_.reason = std::move(failure->reason);
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
      send(protocol::Load{first_module_ + i, binaries[i]}, 0);
      if (auto failure = expect<protocol::Done>(options_.run_deadline_s).failure) return failure;
    }
    return std::nullopt;
  }

  std::optional<Failure> validate() {
    std::vector<std::size_t> order = {plan_.smoke};
    for (std::size_t i = 0; i < plan_.cases.size(); ++i) {
      if (i != plan_.smoke) order.push_back(i);
    }
    std::size_t sent = 0;
    for (std::size_t done = 0; done < order.size(); ++done) {
      // The smoke case goes alone: most of what is wrong ends there.
      const std::size_t ahead = done == 0 ? 1 : std::min(order.size(), done + kInFlight);
      while (sent < ahead) {
        if (auto failure = send_case(order[sent++])) return failure;
      }
      auto ran = expect<protocol::Ran>(options_.run_deadline_s);
      const Case& one = plan_.cases[order[done]];
      if (ran.failure) return at(one, std::move(*ran.failure));
      const Judgement judgement = judge(one, *oracles_.get(order[done]), ran.reply.outputs);
      if (judgement.failure) return judgement.failure;
      if (judgement.closeness > kClose) close_.push_back({order[done], judgement.closeness});
      if (ran.reply.unrepeatable) return at(one, std::move(*ran.reply.unrepeatable));
    }
    return std::nullopt;
  }

  /// A virtual GPU can tell races and unwritten memory from luck. What it looks for does not depend on the numbers, so
  /// one case of the cheapest shape and of each timed one is enough.
  std::optional<Failure> sanitise() {
    if (options_.device.kind != "vgpu") return std::nullopt;
    std::vector<std::size_t> watched = {plan_.smoke};
    for (const TimedShape& timed : plan_.timed)
      if (!timed.rotation.empty() && timed.rotation.front() != plan_.smoke) watched.push_back(timed.rotation.front());
    for (const std::size_t number : watched) {
      const Case& one = plan_.cases[number];
      if (auto failure = send_case(one, 1, Watch::sanitiser)) return failure;
      auto ran = expect<protocol::Ran>(options_.run_deadline_s);
      if (ran.failure) return at(one, std::move(*ran.failure));
    }
    return std::nullopt;
  }

  /// How far one draw of a case lies below its limit is partly luck. Where the worst ones came close, seeds that the
  /// search did not choose by must hold too, and wherever a draw was set aside.
  std::optional<Failure> confirm() {
    std::ranges::stable_sort(close_, std::ranges::greater(), &Close::closeness);
    std::vector<std::pair<std::string, std::string>> confirmed;  // shape and regime
    std::optional<Failure> failure;
    for (const Close& close : close_) {
      const Case& one = plan_.cases[close.number];
      const std::pair key(one.shape.name, one.regime.name);
      if (confirmed.size() >= kConfirmedCases && close.closeness <= 1) break;
      if (std::ranges::find(confirmed, key) != confirmed.end()) continue;
      confirmed.push_back(key);
      const int seeds = more_seeds(protocol::output_bytes(plan_of(one)));
      for (const Case& more : more_cases(options_.task, options_.target, one, options_.salt, seeds)) {
        if ((failure = confirm(more))) break;
      }
      if (failure) break;
    }
    return failure;
  }

  std::optional<Failure> confirm(const Case& one) {
    if (auto failure = send_case(one, 1)) return failure;
    auto ran = expect<protocol::Ran>(options_.run_deadline_s);
    if (ran.failure) return at(one, std::move(*ran.failure));
    const std::shared_ptr<const Expected> expected = extra_.get(one);
    auto failure = judge(one, *expected, ran.reply.outputs).failure;
    if (failure) failure->reason += " (a seed beyond the grid's, where the grid came close to the limit)";
    return failure;
  }

  std::optional<Failure> measure() {
    oracles_.wait_until_finished();
    extra_.rest();
    floor_.rest();
    for (const TimedShape& timed : plan_.timed) {
      if (auto failure = measure(timed, false)) return failure;
    }
    // A modelled device has no cold run of its own.
    if (options_.device.kind == "vgpu") return std::nullopt;
    for (const TimedShape& timed : plan_.timed) {
      if (auto failure = measure(timed, true)) return failure;
    }
    return std::nullopt;
  }

  std::optional<Failure> measure(const TimedShape& timed, bool cold) {
    const auto program = program_for(candidate_, timed.shape.name);
    if (!program) return missing_program(timed.shape.name);
    const Plan& plan = candidate_.programs[*program].plans.at(timed.shape.name);
    protocol::Time request{first_module_ + *program, plan, {}, timing_request(cold)};
    for (const std::size_t number : timed.rotation) request.rotation.push_back(plan_.cases[number].recipe);
    if (timed.afterwards) request.afterwards = plan_.cases[*timed.afterwards].recipe;
    const std::uint64_t set_bytes = protocol::output_bytes(plan);
    send(std::move(request), set_bytes * (timed.rotation.size() + 1));

    auto answer = expect<protocol::Timed>(options_.run_deadline_s + options_.timing_seconds);
    if (answer.failure) return at_timing(timed, std::move(*answer.failure));
    Timing timing = std::move(answer.reply.timing);
    timing.shape = timed.shape.name;
    if (timing.cold != cold || timing.modelled != (options_.device.kind == "vgpu")) {
      return failure_of(Verdict::harness_failed, "the device timed something else than it was asked to");
    }
    const double floor_us =
        physical_floor_us(options_.task, options_.target.options, timed.shape, options_.device, cold);
    if (auto failure = check_timing(timing, floor_us)) return failure;
    evaluation_.timings.push_back(std::move(timing));
    return recheck(timed, answer.reply, set_bytes);
  }

  /// What the timed launches left behind is compared like any other output, where it is not what was compared before.
  std::optional<Failure> recheck(const TimedShape& timed, const protocol::Timed& reply, std::uint64_t set_bytes) {
    std::vector<std::size_t> cases = timed.rotation;
    if (timed.afterwards) cases.push_back(*timed.afterwards);
    const auto sent = static_cast<std::uint64_t>(std::ranges::count(reply.as_before, false));
    if (reply.as_before.size() != cases.size() || reply.outputs.size() != set_bytes * sent) {
      return failure_of(Verdict::harness_failed, "the timing returned outputs of the wrong size");
    }
    std::span<const std::byte> outputs(reply.outputs);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (reply.as_before[i]) continue;
      auto failure = judge(cases[i], outputs.first(set_bytes));
      outputs = outputs.subspan(set_bytes);
      if (failure && i == timed.rotation.size()) {
        failure->reason = "with new inputs after timing (an earlier answer reused?): " + failure->reason;
        return failure;
      }
      if (failure) return at_timing(timed, std::move(*failure));
    }
    return std::nullopt;
  }

  TimingRequest timing_request(bool cold) const {
    TimingRequest request;
    request.cold = cold;
    request.max_seconds = options_.timing_seconds;
    if (cold) {
      request.warm_up_seconds = kColdWarmUpSeconds;
      request.min_seconds = 0;
      request.max_samples = kColdSamples;
      request.max_seconds *= kColdShare;
    }
    return request;
  }

  std::optional<Failure> judge(std::size_t number, std::span<const std::byte> outputs) {
    return judge(plan_.cases[number], *oracles_.get(number), outputs).failure;
  }

  /// The objective's, or what was measured for the regime where an objective asks for no more than the task does.
  Limits limits_in(const std::string& regime) const {
    if (!calibration_ || calibration_->limits.empty()) return limits_;
    const Limits& usual = options_.task.limits;
    Limits measured = limits_for(calibration_, options_.task, regime);
    if (limits_.relative_l2 < usual.relative_l2)
      measured.relative_l2 = std::min(measured.relative_l2, limits_.relative_l2);
    if (limits_.cosine > usual.cosine) measured.cosine = std::max(measured.cosine, limits_.cosine);
    measured.max_abs = limits_.max_abs;
    return measured;
  }

  /// Whether rounding alone does so much more than usual on this draw that its error tells nothing of the candidate.
  bool ill_conditioned(const Case& one, const Expected& expected, const Difference& difference, const Limits& limits) {
    if (difference.not_finite > 0 || difference.relative_l2 > kHopeless) return false;
    return !why_wrong(difference, widened(limits, floor_.strain(one, expected)));
  }

  struct Judgement {
    std::optional<Failure> failure;
    double closeness =
        0;  ///< Of the output that is closest to a limit; above 1 without a failure: the draw is set aside.
  };

  /// Compares every output of one case with its oracle.
  Judgement judge(const Case& one, const Expected& expected, std::span<const std::byte> outputs) {
    const Plan& plan = plan_of(one);
    if (outputs.size() != protocol::output_bytes(plan)) {
      return {failure_of(Verdict::harness_failed, name_of_case(one) + ": an answer of the wrong size")};
    }
    Judgement judgement;
    std::size_t offset = 0, output = 0;
    for (const PlanTensor& tensor : plan.tensors) {
      if (!tensor.output) continue;
      const Difference difference = compare(tensor.dtype, outputs.subspan(offset, tensor.bytes), expected.at(output++));
      offset += tensor.bytes;
      const Limits limits = limits_in(one.regime.name);
      const auto wrong = why_wrong(difference, limits);
      judgement.closeness = std::max(judgement.closeness, closeness(difference, limits));
      if (wrong && ill_conditioned(one, expected, difference, limits)) continue;
      evaluation_.errors.push_back({one.shape.name, one.seed, one.regime.name, tensor.name, difference.relative_l2,
                                    difference.max_abs, difference.cosine});
      evaluation_.worst_relative_l2 = std::max(evaluation_.worst_relative_l2, difference.relative_l2);
      if (wrong) {
        return {failure_of(Verdict::wrong_answer, fmt::format("{}: {}: {}", name_of_case(one), tensor.name, *wrong))};
      }
    }
    return judgement;
  }

  // ---- Talking to the worker

  void send(protocol::Request request, std::uint64_t payload) {
    device_.send(std::move(request));
    payloads_.push_back(payload);
  }

  std::optional<Failure> send_case(std::size_t number) {
    return send_case(plan_.cases[number], std::ranges::binary_search(plan_.repeated, number) ? kRepeats : 1);
  }

  enum class Watch : std::uint8_t { nobody, sanitiser };
  std::optional<Failure> send_case(const Case& one, std::uint32_t repeats, Watch watch = Watch::nobody) {
    const auto program = program_for(candidate_, one.shape.name);
    if (!program) return missing_program(one.shape.name);
    const Plan& plan = candidate_.programs[*program].plans.at(one.shape.name);
    send(protocol::Run{first_module_ + *program, plan, one.recipe, repeats, watch == Watch::sanitiser},
         protocol::output_bytes(plan));
    return std::nullopt;
  }

  template <typename T>
  struct Answer {
    T reply;
    std::optional<Failure> failure;
  };

  /// The answer to the oldest request, which is good only if it is a T.
  template <typename T>
  Answer<T> expect(double deadline_s) {
    const std::uint64_t payload = payloads_.front();
    payloads_.pop_front();
    auto answer = device_.receive(deadline_s, payload);
    if (const auto* lost = std::get_if<Lost>(&answer)) return {{}, failure_of_loss(*lost)};
    auto& reply = std::get<protocol::Reply>(answer);
    if (auto* good = std::get_if<T>(&reply)) return {std::move(*good), std::nullopt};
    return {{}, failure_of_reply(reply)};
  }

  Failure failure_of_loss(const Lost& lost) {
    payloads_.clear();
    lost_without_blame_ = lost.blameless && lost.how == Lost::How::crashed;
    switch (lost.how) {
      case Lost::How::timed_out:
        return failure_of(Verdict::timed_out, lost.reason);
      case Lost::How::crashed:
        return failure_of(lost.blameless ? Verdict::harness_failed : Verdict::crashed,
                          "the worker " + was(lost.reason));
      default:
        return failure_of(Verdict::harness_failed, "the worker broke the protocol: " + lost.reason);
    }
  }

  static std::string was(const std::string& reason) { return reason.starts_with("killed") ? "was " + reason : reason; }

  Failure failure_of_reply(const protocol::Reply& reply) {
    if (const auto* failed = std::get_if<protocol::Failed>(&reply)) {
      if (failed->failure.device_lost) abandon_worker();
      return failed->failure;
    }
    abandon_worker();
    return failure_of(Verdict::harness_failed, protocol::complaint_of(reply));
  }

  void abandon_worker() {
    device_.stop();
    payloads_.clear();
  }

  /// Leaves the worker with nothing on its way and nothing loaded.
  void settle() {
    while (!payloads_.empty()) expect<protocol::Ran>(options_.run_deadline_s);
    for (std::size_t i = 0; device_.running() && i < candidate_.programs.size(); ++i) {
      send(protocol::Unload{first_module_ + i}, 0);
      expect<protocol::Done>(options_.run_deadline_s);
    }
  }

  // ---- Small things

  /// Of a case that has run.
  const Plan& plan_of(const Case& one) const {
    return candidate_.programs[*program_for(candidate_, one.shape.name)].plans.at(one.shape.name);
  }

  static Failure missing_program(const std::string& shape) {
    return failure_of(Verdict::harness_failed, "the candidate has no program for shape " + shape);
  }

  static Failure at(const Case& one, Failure failure) {
    failure.reason = fmt::format("{}: {}", name_of_case(one), failure.reason);
    return failure;
  }

  static Failure at_timing(const TimedShape& timed, Failure failure) {
    failure.reason = fmt::format("while timing {}: {}", timed.shape.name, failure.reason);
    return failure;
  }

  /// Geometric mean of the warm medians.
  double objective() const {
    std::vector<double> medians_us;
    for (const Timing& timing : evaluation_.timings) {
      if (!timing.cold) medians_us.push_back(timing.median_us);
    }
    return geometric_mean(medians_us);
  }

  const PipelineOptions& options_;
  const std::optional<Calibration>& calibration_;
  const CasePlan& plan_;
  OracleStore& oracles_;
  ExtraOracles& extra_;
  NoiseFloor& floor_;
  WorkerClient& device_;
  const Candidate& candidate_;
  const Limits& limits_;
  std::uint64_t first_module_;
  std::deque<std::uint64_t> payloads_;  ///< Of the requests on their way: the bytes that an answer may bring.
  Evaluation evaluation_;
  /// A case whose error came close to a limit.
  struct Close {
    std::size_t number = 0;
    double closeness = 0;
  };
  std::vector<Close> close_;
  bool lost_without_blame_ = false;
  bool retry_ = false;
};

}  // namespace

Validation::Validation(const PipelineOptions& options, const std::optional<Calibration>& calibration,
                       const CasePlan& plan, OracleStore& oracles, ExtraOracles& extra, NoiseFloor& floor,
                       WorkerClient& device)
    : options_(options),
      calibration_(calibration),
      plan_(plan),
      oracles_(oracles),
      extra_(extra),
      floor_(floor),
      device_(device) {}

Evaluation Validation::evaluate(const Candidate& candidate, const std::vector<Binary>& binaries) {
  for (int attempt = 0;; ++attempt) {
    Trial trial(options_, calibration_, plan_, oracles_, extra_, floor_, device_, candidate, next_module_);
    next_module_ += binaries.size();
    Evaluation evaluation = trial.run(binaries);
    if (!trial.wants_retry() || attempt > 0) return evaluation;
  }
}

}  // namespace evo
