#include "evaluator/timing/interleaved_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>

#include "engine/base/error.h"
#include "engine/base/mean.h"
#include "engine/base/rng.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/log.h"
#include "evaluator/base/random.h"

namespace evo {
namespace {

/// The number of the first module. Those of candidates that are validated are smaller.
constexpr std::uint64_t kFirstModule = std::uint64_t{1} << 40;

/// Names the stream of random numbers that the orders come from. Another name would be another order.
constexpr const char* kOrderStream = "turns";

/// Of a search's timings under a power limit, half of it to warm up. Clocks swing with a period of about a second:
/// pairs of shorter timings scatter ten times as much (docs/decisions/0003-sustained-clocks.md).
constexpr double kLimitedTurnSeconds = 1;

/// One timing under a power limit. After a pause clocks rise above what they can keep, and then they swing.
TimingRequest limited_timing() {
  TimingRequest request;
  request.min_samples = 5;
  request.max_seconds = 0.1;
  return request;
}

/// One timing of a given length. It holds whole swings of the clock, so that the mean of its samples is what lasts.
TimingRequest long_timing(double turn_s) {
  TimingRequest request;
  request.min_samples = 5;
  request.max_samples = std::numeric_limits<int>::max();
  request.warm_up_seconds = turn_s / 2;
  request.min_seconds = request.full_clock_seconds = turn_s / 2;
  request.max_seconds = turn_s / 2;
  return request;
}

/// One timing at the GPU's full clock. It is short, because many short rounds resolve more than few long ones.
TimingRequest full_clock_timing() {
  TimingRequest request;
  request.min_samples = 5;
  request.max_samples = 20;
  request.min_seconds = 0;
  request.max_seconds = 0.03;
  request.warm_up_seconds = 0.002;
  return request;
}

class InterleavedRun {
 public:
  InterleavedRun(const PipelineOptions& options, const CasePlan& plan, WorkerClient& device,
                 const std::vector<BuiltCandidate>& candidates)
      : options_(options),
        plan_(plan),
        device_(device),
        candidates_(candidates),
        rng_(mix(options.salt, kOrderStream)) {}

  InterleavedTimings run(int rounds, const EnoughRounds& enough) {
    const bool modelled = kind_named(options_.device.kind).modelled;
    timings_.modelled = modelled;
    timings_.rounds_us.resize(candidates_.size());
    timings_.failures.resize(candidates_.size());
    device_.start();
    for (std::size_t i = 0; i < candidates_.size(); ++i) load(i);
    bool at_full_clock = std::ranges::all_of(candidates_, &BuiltCandidate::at_full_clock);
    for (int i = 0; i < (modelled ? 1 : rounds); ++i) {
      const double turn_s = options_.turn_s == 0 && options_.competing ? kLimitedTurnSeconds : options_.turn_s;
      timings_.long_turns = options_.turn_s > 0 || (turn_s > 0 && !at_full_clock);
      request_ = timings_.long_turns ? long_timing(turn_s) : at_full_clock ? full_clock_timing() : limited_timing();
      round();
      if (enough && enough(timings_)) break;
      at_full_clock = is_full_clock(lowest_sm_mhz_, 1e3 * options_.device.clock_ghz);
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) unload(i);
    return std::move(timings_);
  }

 private:
  void round() {
    std::vector<std::size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.below(i)]);
    for (const std::size_t number : order) {
      if (timings_.failures[number]) continue;
      const double us = objective(number);
      if (!timings_.failures[number]) timings_.rounds_us[number].push_back(us);
    }
  }

  /// The geometric mean over the timed shapes, by which candidates are ranked.
  double objective(std::size_t number) {
    std::vector<double> times_us;
    for (const TimedShape& timed : plan_.timed) {
      const auto timing = time(number, timed);
      if (!timing) return 0;
      timings_.throttled += timing->throttled;
      lowest_sm_mhz_ = std::min(lowest_sm_mhz_, timing->conditions.sm_mhz_low.value_or(0));
      times_us.push_back(timings_.long_turns ? mean(timing->samples_us) : timing->median_us);
    }
    return geometric_mean(times_us);
  }

  std::optional<Timing> time(std::size_t number, const TimedShape& timed) {
    const Candidate& candidate = *candidates_[number].candidate;
    const auto program = program_for(candidate, timed.shape.name);
    if (!program) throw machine_error("a candidate has no program for shape " + timed.shape.name);
    const Plan& plan = candidate.programs[*program].plans.at(timed.shape.name);
    protocol::Time request{first_module(number) + *program, timed.shape.name, {}, request_};
    for (const std::size_t one : rotation_of(timed, plan)) request.rotation.push_back(plan_.cases[one].recipe);
    request.answered = false;  // The outputs were compared when the candidates were validated.
    auto timed_reply = ask<protocol::Timed>(number, std::move(request));
    if (timed_reply) log_comparison(number, timed.shape.name, timed_reply->timing);
    if (timed_reply && timed_reply->timing.median_us <= 0) fail(number, "its timing has no usable sample");
    if (!timed_reply || timings_.failures[number]) return std::nullopt;
    return std::move(timed_reply->timing);
  }

  void log_comparison(std::size_t number, const std::string& shape, const Timing& timing) const {
    log_line(LogLevel::debug, [&] {
      return fmt::format("compared candidate {} of {}, shape {}, on {}: {:.4g} us; {}", number + 1, candidates_.size(),
                         shape, options_.device.id, timing.median_us, to_text(timing.conditions));
    });
  }

  void load(std::size_t number) {
    const BuiltCandidate& built = candidates_[number];
    for (std::size_t i = 0; i < built.binaries.size() && !timings_.failures[number]; ++i) {
      ask<protocol::Done>(
          number, protocol::Load{first_module(number) + i, built.binaries[i], built.candidate->programs[i].plans});
    }
  }

  void unload(std::size_t number) {
    for (std::size_t i = 0; device_.running() && i < candidates_[number].binaries.size(); ++i) {
      device_.call(protocol::Unload{first_module(number) + i}, options_.run_deadline_s);
    }
  }

  /// The answer if it is a T. Otherwise the candidate has failed, and a worker that holds all others serves them.
  template <typename T>
  std::optional<T> ask(std::size_t number, protocol::Request request) {
    auto answer = device_.ask<T>(std::move(request), options_.run_deadline_s);
    if (auto* good = std::get_if<T>(&answer)) return std::move(*good);
    if (const auto* broken = std::get_if<protocol::Broken>(&answer)) throw machine_error(broken->message);
    const auto* failure = std::get_if<Failure>(&answer);
    fail(number, failure != nullptr ? failure->reason : "the worker was lost: " + std::get<Lost>(answer).reason);
    if (failure != nullptr && !failure->device_lost) return std::nullopt;
    device_.stop();
    reload();
    return std::nullopt;
  }

  void reload() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!timings_.failures[i]) load(i);
    }
  }

  void fail(std::size_t number, std::string reason) { timings_.failures[number] = std::move(reason); }

  std::uint64_t first_module(std::size_t number) const { return kFirstModule + number * 1024; }

  const PipelineOptions& options_;
  const CasePlan& plan_;
  WorkerClient& device_;
  const std::vector<BuiltCandidate>& candidates_;
  Rng rng_;
  TimingRequest request_;
  int lowest_sm_mhz_ = std::numeric_limits<int>::max();  ///< In all timings so far; 0: unknown.
  InterleavedTimings timings_;
};

}  // namespace

InterleavedTimings time_interleaved(const PipelineOptions& options, const CasePlan& plan, WorkerClient& device,
                                    const std::vector<BuiltCandidate>& candidates, int rounds,
                                    const EnoughRounds& enough) {
  return InterleavedRun(options, plan, device, candidates).run(rounds, enough);
}

}  // namespace evo
