#include "evaluator/pipeline/interleaved_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>

#include "engine/base/error.h"
#include "engine/base/mean.h"
#include "engine/base/rng.h"
#include "evaluator/base/random.h"

namespace evo {
namespace {

/// Modules of candidates, out of the way of those that are validated.
constexpr std::uint64_t kFirstModule = std::uint64_t{1} << 40;

/// Clocks that are lower by no more than this part are the same.
constexpr double kClockTolerance = 0.01;

/// A turn under a power limit: after a pause clocks rise beyond what lasts, and then they swing.
TimingRequest limited_turn() {
  TimingRequest request;
  request.min_samples = 5;
  request.max_seconds = 0.1;
  return request;
}

/// A turn at the GPU's full clock is short: many rounds say more than long ones.
TimingRequest free_turn() {
  TimingRequest request;
  request.min_samples = 5;
  request.max_samples = 20;
  request.min_seconds = 0;
  request.max_seconds = 0.03;
  request.warm_up_seconds = 0.002;
  return request;
}

class Match {
 public:
  Match(const PipelineOptions& options, const CasePlan& plan, WorkerClient& device,
        const std::vector<BuiltCandidate>& candidates)
      : options_(options), plan_(plan), device_(device), candidates_(candidates), rng_(mix(options.salt, "turns")) {}

  Turns run(int rounds, const TurnsEnd& end) {
    const bool modelled = options_.device.kind == "vgpu";
    turns_.modelled = modelled;
    turns_.rounds_us.resize(candidates_.size());
    turns_.failures.resize(candidates_.size());
    for (std::size_t i = 0; i < candidates_.size(); ++i) load(i);
    for (int i = 0; i < (modelled ? 1 : rounds); ++i) {
      round();
      if (end && end(turns_)) break;
      turn_ = at_full_clock() ? free_turn() : limited_turn();
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) unload(i);
    return std::move(turns_);
  }

 private:
  bool at_full_clock() const {
    return lowest_sm_mhz_ > 0 && lowest_sm_mhz_ >= (1 - kClockTolerance) * 1e3 * options_.device.clock_ghz;
  }

  void round() {
    std::vector<std::size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.below(i)]);
    for (const std::size_t number : order) {
      if (turns_.failures[number]) continue;
      const double us = objective(number);
      if (!turns_.failures[number]) turns_.rounds_us[number].push_back(us);
    }
  }

  /// Geometric mean over the timed shapes, as candidates are ranked by.
  double objective(std::size_t number) {
    std::vector<double> medians_us;
    for (const TimedShape& timed : plan_.timed) {
      const auto timing = time(number, timed);
      if (!timing) return 0;
      turns_.throttled += timing->throttled;
      lowest_sm_mhz_ = std::min(lowest_sm_mhz_, timing->conditions.sm_mhz_low);
      medians_us.push_back(timing->median_us);
    }
    return geometric_mean(medians_us);
  }

  std::optional<Timing> time(std::size_t number, const TimedShape& timed) {
    const Candidate& candidate = *candidates_[number].candidate;
    const auto program = program_for(candidate, timed.shape.name);
    if (!program) throw machine_error("a contestant has no program for shape " + timed.shape.name);
    const Plan& plan = candidate.programs[*program].plans.at(timed.shape.name);
    protocol::Time request{first_module(number) + *program, plan, {}, turn_};
    for (const std::size_t one : timed.rotation) request.rotation.push_back(plan_.cases[one].recipe);
    request.answered = false;  // They were judged when the candidates were validated.
    auto timed_reply = ask<protocol::Timed>(number, std::move(request));
    if (timed_reply && timed_reply->timing.median_us <= 0) fail(number, "its timing has no usable sample");
    if (!timed_reply || turns_.failures[number]) return std::nullopt;
    return std::move(timed_reply->timing);
  }

  void load(std::size_t number) {
    const std::vector<Binary>& binaries = candidates_[number].binaries;
    for (std::size_t i = 0; i < binaries.size() && !turns_.failures[number]; ++i) {
      ask<protocol::Done>(number, protocol::Load{first_module(number) + i, binaries[i]});
    }
  }

  void unload(std::size_t number) {
    for (std::size_t i = 0; device_.running() && i < candidates_[number].binaries.size(); ++i) {
      device_.call(protocol::Unload{first_module(number) + i}, options_.run_deadline_s);
    }
  }

  /// The answer if it is a T; else the candidate has failed, and the others go on with a worker that holds them all.
  template <typename T>
  std::optional<T> ask(std::size_t number, protocol::Request request) {
    auto answer = device_.call(std::move(request), options_.run_deadline_s);
    if (const auto* lost = std::get_if<Lost>(&answer)) {
      fail(number, "the worker was lost: " + lost->reason);
      reload();
      return std::nullopt;
    }
    auto& reply = std::get<protocol::Reply>(answer);
    if (auto* good = std::get_if<T>(&reply)) return std::move(*good);
    const auto* failed = std::get_if<protocol::Failed>(&reply);
    if (std::holds_alternative<protocol::Broken>(reply)) throw machine_error(protocol::complaint_of(reply));
    fail(number, failed != nullptr ? failed->failure.reason : protocol::complaint_of(reply));
    if (failed != nullptr && failed->failure.device_lost) {
      device_.stop();
      reload();
    }
    return std::nullopt;
  }

  void reload() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!turns_.failures[i]) load(i);
    }
  }

  void fail(std::size_t number, std::string reason) { turns_.failures[number] = std::move(reason); }

  std::uint64_t first_module(std::size_t number) const { return kFirstModule + number * 1024; }

  const PipelineOptions& options_;
  const CasePlan& plan_;
  WorkerClient& device_;
  const std::vector<BuiltCandidate>& candidates_;
  Rng rng_;
  TimingRequest turn_ = limited_turn();
  int lowest_sm_mhz_ = std::numeric_limits<int>::max();  ///< Of all turns so far; 0: nobody could tell.
  Turns turns_;
};

}  // namespace

Turns time_in_turns(const PipelineOptions& options, const CasePlan& plan, WorkerClient& device,
                    const std::vector<BuiltCandidate>& candidates, int rounds, const TurnsEnd& end) {
  return Match(options, plan, device, candidates).run(rounds, end);
}

}  // namespace evo
