#include "evaluator/pipeline/candidate_timing.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/mean.h"
#include "evaluator/judge/made_inputs.h"
#include "evaluator/pipeline/gates.h"

namespace evo {
namespace {

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

}  // namespace

std::optional<Failure> CandidateTiming::measure() {
  setup_.oracles.wait_until_finished();
  setup_.extra.rest();
  setup_.floor.rest();
  for (const TimedShape& timed : setup_.plan.timed) {
    if (auto failure = measure(timed, false)) return failure;
  }
  for (std::size_t i = 0; i < setup_.plan.timed.size() && (!to_beat_ || objective() <= to_beat_->us); ++i) {
    if (auto failure = look_for_skips(setup_.plan.timed[i], evaluation_.timings[i].median_us)) return failure;
  }
  if (!kind_.cold_timing || (to_beat_ && objective() > kContender * to_beat_->us)) return std::nullopt;
  for (const TimedShape& timed : setup_.plan.timed) {
    if (auto failure = measure(timed, true)) return failure;
  }
  return std::nullopt;
}

std::optional<Failure> CandidateTiming::measure(const TimedShape& timed, bool cold) {
  const auto program = program_for(candidate_, timed.shape.name);
  if (!program) return missing_program(timed.shape.name);
  const Plan& plan = candidate_.programs[*program].plans.at(timed.shape.name);
  protocol::Time request{0, timed.shape.name, {}, timing_request(cold)};
  const std::span<const std::size_t> rotation = rotation_of(timed, plan);
  for (const std::size_t number : rotation) request.rotation.push_back(setup_.plan.cases[number].recipe);
  if (timed.afterwards) request.afterwards = setup_.plan.cases[*timed.afterwards].recipe;
  const std::uint64_t set_bytes = protocol::output_bytes(plan);
  worker_.send_timing(*program, std::move(request), set_bytes * (rotation.size() + 1));

  auto answer = worker_.expect<protocol::Timed>(setup_.options.timing_seconds);
  if (answer.failure) return failure_at_timing(candidate_, timed.shape, std::move(*answer.failure));
  Timing timing = std::move(answer.reply.timing);
  timing.shape = timed.shape.name;
  if (timing.cold != cold || timing.modelled != kind_.modelled) {
    return Failure{Verdict::harness_failed, "the device timed something else than it was asked to"};
  }
  const double floor_us =
      physical_floor(setup_.options.task, setup_.options.target.options, timed.shape, setup_.options.device, cold).us();
  if (auto failure = check_timing(timing, floor_us)) return failure;
  evaluation_.timings.push_back(std::move(timing));
  return recheck(timed, rotation, answer.reply, set_bytes);
}

/// A call must take as long, and give the same, whatever an earlier one left (evaluator/device/skip_probe.h).
std::optional<Failure> CandidateTiming::look_for_skips(const TimedShape& timed, double call_us) {
  const PipelineOptions& options = setup_.options;
  const auto program = program_for(candidate_, timed.shape.name);
  const Plan& plan = candidate_.programs[*program].plans.at(timed.shape.name);
  const std::span<const std::size_t> rotation = rotation_of(timed, plan);
  if (rotation.empty()) return std::nullopt;
  const std::vector<Case> others =
      more_cases(options.task, options.target, setup_.plan.cases[rotation.front()], options.salt, 3);
  protocol::Time request{0, timed.shape.name, {}, {}};
  for (const std::size_t number : rotation) request.rotation.push_back(setup_.plan.cases[number].recipe);
  request.probe = {others[0].recipe, call_us, options.task.deterministic};
  const std::uint64_t set_bytes = protocol::output_bytes(plan);
  worker_.send_timing(*program, request, set_bytes * rotation.size());
  const auto drawn = worker_.expect<protocol::Timed>(options.timing_seconds);
  if (drawn.failure) return failure_at_timing(candidate_, timed.shape, *drawn.failure);
  if (auto failure = recheck({timed.shape, timed.rotation}, rotation, drawn.reply, set_bytes)) {
    if (!failure->mismatch) return failure;
    failure->verdict = Verdict::skips_work;
    failure->reason = "its second call on the same inputs leaves poisoned outputs as they are or writes others";
    return failure;
  }
  if (kind_.sanitises) return std::nullopt;

  // A kernel that recomputes a part of its output, sums say, finds exactly that where sums do not round.
  const Regime signs{.name = "signs", .distribution = Distribution::max_magnitude};
  const auto with_signs = [&](const Case& one) {
    return recipe_of_case(options.task, options.target.options, one.shape, signs, one.seed, options.salt);
  };
  request.rotation = {with_signs(others[1])};
  request.probe->other = with_signs(others[2]);
  request.answered = false;  // No reference has computed it; the worker compares.
  worker_.send_timing(*program, std::move(request), 0);
  const auto signed_draw = worker_.expect<protocol::Timed>(options.timing_seconds);
  if (signed_draw.failure) return failure_at_timing(candidate_, timed.shape, *signed_draw.failure);
  return std::nullopt;
}

/// The outputs of the timed launches are compared like any other, unless they are bit for bit an earlier answer.
std::optional<Failure> CandidateTiming::recheck(const TimedShape& timed, std::span<const std::size_t> rotation,
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
    auto failure = judge_.check(cases[i], outputs.first(set_bytes));
    outputs = outputs.subspan(set_bytes);
    if (!failure) continue;
    if (!failure->mismatch) return failure_at_timing(candidate_, timed.shape, std::move(*failure));
    failure->mismatch->found = i == rotation.size() ? MismatchFound::after_timing : MismatchFound::while_timed;
    return failure;
  }
  return std::nullopt;
}

TimingRequest CandidateTiming::timing_request(bool cold) const {
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

double CandidateTiming::objective() const {
  std::vector<double> medians_us;
  for (const Timing& timing : evaluation_.timings) {
    if (!timing.cold) medians_us.push_back(timing.median_us);
  }
  return geometric_mean(medians_us);
}

}  // namespace evo
