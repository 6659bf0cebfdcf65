#include "evaluator/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "evaluator/comparison.h"
#include "evaluator/gates.h"

namespace evo {
namespace {

/// Runs of a case whose outputs must agree bitwise.
constexpr std::uint32_t kRepeats = 3;
/// Requests on their way: while one case is compared here, the next one runs there.
constexpr std::size_t kInFlight = 2;
/// Cold launches flush L2 each time; they are reported, not searched for, so fewer do.
constexpr int kColdSamples = 50;
constexpr double kColdShare = 0.25;

Failure failure_of(Verdict verdict, std::string reason) { return {verdict, std::move(reason), false, ""}; }

std::string name_of_case(const Case& one) {
  return fmt::format("shape {}, regime {}, seed {}", one.shape.name, one.regime.name, one.seed);
}

/// One candidate's way through the gates, with one worker process.
class Trial {
 public:
  Trial(const PipelineOptions& options, const CasePlan& plan, OracleStore& oracles, WorkerClient& device,
        const Candidate& candidate, std::uint64_t first_module)
      : options_(options),
        plan_(plan),
        oracles_(oracles),
        device_(device),
        candidate_(candidate),
        first_module_(first_module) {}

  Evaluation run(const std::vector<Binary>& binaries) {
    std::optional<Failure> failure = load(binaries);
    if (!failure) failure = validate();
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
      if (auto failure = judge(order[done], ran.reply.outputs)) return failure;
      if (ran.reply.unrepeatable) return at(one, std::move(*ran.reply.unrepeatable));
    }
    return std::nullopt;
  }

  std::optional<Failure> measure() {
    oracles_.wait_until_finished();
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
    const auto program = program_for(timed.shape.name);
    if (!program) return missing_program(timed.shape.name);
    const Plan& plan = candidate_.programs[*program].plans.at(timed.shape.name);
    protocol::Time request{first_module_ + *program, plan, {}, timing_request(cold)};
    for (const std::size_t number : timed.rotation) request.rotation.push_back(plan_.cases[number].recipe);
    const std::uint64_t set_bytes = protocol::output_bytes(plan);
    send(std::move(request), set_bytes * timed.rotation.size());

    auto answer = expect<protocol::Timed>(options_.run_deadline_s + options_.timing_seconds);
    if (answer.failure) return at_timing(timed, std::move(*answer.failure));
    Timing timing = std::move(answer.reply.timing);
    timing.shape = timed.shape.name;
    if (timing.cold != cold || timing.modelled != (options_.device.kind == "vgpu")) {
      return failure_of(Verdict::harness_failed, "the device timed something else than it was asked to");
    }
    const double floor_us = physical_floor_us(options_.task, options_.target.options, timed.shape, options_.device, cold);
    if (auto failure = check_timing(timing, floor_us)) return failure;
    evaluation_.timings.push_back(std::move(timing));
    return recheck(timed, answer.reply.outputs, set_bytes);
  }

  /// What the timed launches left behind is compared like any other output.
  std::optional<Failure> recheck(const TimedShape& timed, const std::vector<std::byte>& outputs, std::uint64_t set_bytes) {
    if (outputs.size() != set_bytes * timed.rotation.size()) {
      return failure_of(Verdict::harness_failed, "the timing returned outputs of the wrong size");
    }
    for (std::size_t i = 0; i < timed.rotation.size(); ++i) {
      const auto set = std::span(outputs).subspan(i * set_bytes, set_bytes);
      if (auto failure = judge(timed.rotation[i], set)) return at_timing(timed, std::move(*failure));
    }
    return std::nullopt;
  }

  TimingRequest timing_request(bool cold) const {
    TimingRequest request;
    request.cold = cold;
    request.max_seconds = options_.timing_seconds;
    if (cold) {
      request.max_samples = kColdSamples;
      request.max_seconds *= kColdShare;
    }
    return request;
  }

  /// Compares every output of one case with its oracle.
  std::optional<Failure> judge(std::size_t number, std::span<const std::byte> outputs) {
    const Case& one = plan_.cases[number];
    const Plan& plan = candidate_.programs[*program_for(one.shape.name)].plans.at(one.shape.name);
    const std::shared_ptr<const Expected> expected = oracles_.get(number);
    if (outputs.size() != protocol::output_bytes(plan)) {
      return failure_of(Verdict::harness_failed, name_of_case(one) + ": an answer of the wrong size");
    }
    std::size_t offset = 0, output = 0;
    for (const PlanTensor& tensor : plan.tensors) {
      if (!tensor.output) continue;
      const Difference difference =
          compare(tensor.dtype, outputs.subspan(offset, tensor.bytes), expected->at(output++));
      offset += tensor.bytes;
      evaluation_.errors.push_back({one.shape.name, one.seed, one.regime.name, tensor.name, difference.relative_l2,
                                    difference.max_abs, difference.cosine});
      evaluation_.worst_relative_l2 = std::max(evaluation_.worst_relative_l2, difference.relative_l2);
      if (const auto wrong = why_wrong(difference, options_.task.limits)) {
        return failure_of(Verdict::wrong_answer, fmt::format("{}: {}: {}", name_of_case(one), tensor.name, *wrong));
      }
    }
    return std::nullopt;
  }

  // ---- Talking to the worker

  void send(protocol::Request request, std::uint64_t payload) {
    device_.send(std::move(request));
    payloads_.push_back(payload);
  }

  std::optional<Failure> send_case(std::size_t number) {
    const Case& one = plan_.cases[number];
    const auto program = program_for(one.shape.name);
    if (!program) return missing_program(one.shape.name);
    const Plan& plan = candidate_.programs[*program].plans.at(one.shape.name);
    const bool repeated = std::ranges::binary_search(plan_.repeated, number);
    send(protocol::Run{first_module_ + *program, plan, one.recipe, repeated ? kRepeats : 1}, protocol::output_bytes(plan));
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
      case Lost::How::timed_out: return failure_of(Verdict::timed_out, lost.reason);
      case Lost::How::crashed:
        return failure_of(lost.blameless ? Verdict::harness_failed : Verdict::crashed, "the worker " + was(lost.reason));
      default: return failure_of(Verdict::harness_failed, "the worker broke the protocol: " + lost.reason);
    }
  }

  static std::string was(const std::string& reason) { return reason.starts_with("killed") ? "was " + reason : reason; }

  Failure failure_of_reply(const protocol::Reply& reply) {
    if (const auto* failed = std::get_if<protocol::Failed>(&reply)) {
      if (failed->failure.device_lost) abandon_worker();
      return failed->failure;
    }
    abandon_worker();
    const auto* broken = std::get_if<protocol::Broken>(&reply);
    return failure_of(Verdict::harness_failed,
                      broken != nullptr ? broken->message : "the worker gave an answer of the wrong kind");
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

  std::optional<std::size_t> program_for(const std::string& shape) const {
    for (std::size_t i = 0; i < candidate_.programs.size(); ++i) {
      if (candidate_.programs[i].plans.contains(shape)) return i;
    }
    return std::nullopt;
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
    double sum = 0;
    int count = 0;
    for (const Timing& timing : evaluation_.timings) {
      if (timing.cold) continue;
      sum += std::log(timing.median_us);
      ++count;
    }
    return std::exp(sum / count);
  }

  const PipelineOptions& options_;
  const CasePlan& plan_;
  OracleStore& oracles_;
  WorkerClient& device_;
  const Candidate& candidate_;
  std::uint64_t first_module_;
  std::deque<std::uint64_t> payloads_;  ///< Of the requests on their way: the bytes that an answer may bring.
  Evaluation evaluation_;
  bool lost_without_blame_ = false;
  bool retry_ = false;
};

}  // namespace

Validation::Validation(const PipelineOptions& options, const CasePlan& plan, OracleStore& oracles, WorkerClient& device)
    : options_(options), plan_(plan), oracles_(oracles), device_(device) {}

Evaluation Validation::evaluate(const Candidate& candidate, const std::vector<Binary>& binaries) {
  for (int attempt = 0;; ++attempt) {
    Trial trial(options_, plan_, oracles_, device_, candidate, next_module_);
    next_module_ += binaries.size();
    Evaluation evaluation = trial.run(binaries);
    if (!trial.wants_retry() || attempt > 0) return evaluation;
  }
}

}  // namespace evo
