#include "cli/run/cost_model_predictor.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>
#include <limits>
#include <utility>

#include "cli/model/modeller.h"
#include "cli/text/streams.h"
#include "engine/base/error.h"
#include "engine/base/mean.h"
#include "engine/device/device_kind.h"
#include "evaluator/base/cores.h"
#include "evaluator/hosts/devices.h"
#include "evaluator/pipeline/gates.h"
#include "evaluator/pipeline/program_building.h"

namespace evo::cli {
namespace {

constexpr double kFails = std::numeric_limits<double>::infinity();
/// Modelling a candidate takes about a second.
constexpr double kDeadline_s = 60;
/// How often a wait checks whether it is to stop.
constexpr std::chrono::milliseconds kPoll{50};

DeviceInfo virtual_device_like(const DeviceInfo& device) {
  return kind_named(device.kind).modelled ? device : resolve_device(virtual_gpu_like(device.name));
}

PipelineOptions options_for(const DeviceInfo& device, std::shared_ptr<BinaryCache> binaries) {
  PipelineOptions options;
  options.binaries = std::move(binaries);
  options.device = device;
  options.compile_deadline_s = options.run_deadline_s = kDeadline_s;
  options.notice = tell;
  return options;
}

/// Whether a failure is one of the virtual GPU or the machine, not of the candidate.
bool is_no_fault_of_candidate(Verdict verdict) {
  return verdict == Verdict::unsupported || verdict == Verdict::harness_failed;
}

}  // namespace

CostModelPredictor::CostModelPredictor(Task task, Target target, const DeviceInfo& device, MakeCandidate make_candidate,
                                       std::shared_ptr<BinaryCache> binaries, const std::atomic<bool>& stop)
    : task_(std::move(task)),
      target_(std::move(target)),
      device_(virtual_device_like(device)),
      make_candidate_(std::move(make_candidate)),
      stop_(stop),
      pool_(options_for(device_, std::move(binaries)), usable_cores()) {}

PendingPrediction CostModelPredictor::begin(const Genome& genome) {
  const auto pending = std::make_shared<Pending>(start(genome));
  const auto ready = [this, pending] {
    return stop_.load() || std::ranges::all_of(pending->results, [](const std::future<ModelPool::Result>& result) {
             return result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
           });
  };
  const auto finished = [this, pending]() -> std::optional<PredictedLatency> {
    if (!wait_for(*pending)) return std::nullopt;
    return finish(std::move(*pending));
  };
  return {ready, finished};
}

bool CostModelPredictor::wait_for(const Pending& pending) const {
  for (const std::future<ModelPool::Result>& result : pending.results) {
    while (result.wait_for(kPoll) != std::future_status::ready) {
      if (stop_.load()) return false;
    }
  }
  return true;
}

CostModelPredictor::Pending CostModelPredictor::start(const Genome& genome) {
  Pending pending{make_candidate_(genome), {}, {}};
  for (const Shape& shape : target_.timed) {
    const auto number = program_for(pending.candidate, shape.name);
    if (!number) throw usage_error("the candidate has no plan for the shape " + shape.name);
    const Program& program = pending.candidate.programs[*number];
    pending.programs.push_back(*number);
    pending.results.push_back(pool_.model(program, shape.name, modelled_case(task_, target_, shape)));
  }
  return pending;
}

PredictedLatency CostModelPredictor::finish(Pending pending) const {
  std::vector<double> latencies_us;
  std::vector<Build> builds;
  std::vector<float> traits;
  for (std::size_t i = 0; i < pending.results.size(); ++i) {
    const ModelPool::Result result = pending.results[i].get();
    if (const auto* failure = std::get_if<Failure>(&result)) {
      return {is_no_fault_of_candidate(failure->verdict) ? std::nullopt : std::optional(kFails)};
    }
    const auto& forecast = std::get<Forecast>(result);
    if (check_resources(pending.candidate.programs[pending.programs[i]], forecast.build, device_)) return {kFails};
    latencies_us.push_back(forecast.latency_us);
    builds.push_back(forecast.build);
    std::ranges::copy(traits_of(forecast.launches), std::back_inserter(traits));
  }
  return {geometric_mean(latencies_us), key_of_builds(pending.candidate, builds), std::move(traits)};
}

}  // namespace evo::cli
