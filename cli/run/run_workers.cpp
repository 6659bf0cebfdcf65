#include "cli/run/run_workers.h"

#include <algorithm>
#include <utility>

#include "cli/run/cost_model_predictor.h"
#include "cli/run/fixed_width_evaluator.h"
#include "cli/subject/arguments.h"
#include "cli/text/streams.h"
#include "engine/device/device_kind.h"

namespace evo::cli {
namespace {

/// Candidates of a screened search that are under way on each GPU. They are compiled when they are chosen, so few keep
/// the GPU busy; and what is proposed from fewer answers is worse (docs/studies/search.md).
constexpr std::size_t kScreenedWidth = 2;

/// Candidates under way, of a run that names no number. `most` keep the devices busy when each has to be compiled.
std::size_t width_of(const RunInfo& info, const DeviceInfo& device, std::size_t most) {
  if (info.screen <= 1 || kind_named(device.kind).on_host) return most;
  return std::min(most, kScreenedWidth * (1 + info.further_devices.size()));
}

}  // namespace

RunModel start_model(const PreparedRun& run, const MakeCandidate& build, const std::shared_ptr<BinaryCache>& binaries,
                     const std::atomic<bool>& stop) {
  if (!is_guided(run)) return {};
  auto by_cost_model =
      std::make_unique<CostModelPredictor>(run.task, run.info.target, run.device, build, binaries, stop);
  ModelPool* const pool = &by_cost_model->pool();
  for (const OtherHost& host : run.other_hosts) pool->join(host);
  return {std::make_unique<CachedPredictor>(std::move(by_cost_model)), pool};
}

/// A language model is told what bounds the elites: modelled counters cost nothing, measured ones another run of the
/// kernel.
ProfileWish profile_wish(const RunRequest& request, const DeviceInfo& device) {
  const bool modelled = kind_named(device.kind).modelled;
  if (request.profile.empty() && !request.llm.model.empty()) return {.every = modelled ? 1U : 4U, .elites = !modelled};
  if (request.profile.empty()) return {.elites = !modelled};
  const std::uint64_t every = parse_number("--profile", request.profile);
  return {.every = every, .elites = every > 0};
}

PipelineOptions pipeline_options(const PreparedRun& run, std::shared_ptr<BinaryCache> binaries) {
  PipelineOptions options;
  options.binaries = std::move(binaries);
  options.task = run.task;
  options.tree = run.info.files;
  options.target = run.info.target;
  options.device = run.device;
  options.further_devices = run.further_devices;
  options.salt = run.info.salt;
  return options;
}

RunPipeline start_pipeline(PreparedRun& run, std::vector<Finished> finished, std::shared_ptr<BinaryCache> binaries,
                           const ProfileWish& wish, bool compiles) {
  PipelineOptions options = pipeline_options(run, std::move(binaries));
  options.finished = std::move(finished);
  options.profile_every = wish.every;
  options.competing = true;
  options.notice = tell;
  std::unique_ptr<DevicePipeline> pipeline = make_pipeline(std::move(options));
  if (run.info.width == 0) run.info.width = width_of(run.info, run.device, pipeline->width());
  if (compiles) {
    for (const OtherHost& host : run.other_hosts) pipeline->compile_on(host);
  }
  DevicePipeline* behind = pipeline.get();
  return {behind, std::make_unique<FixedWidthEvaluator>(std::move(pipeline), run.info.width)};
}

}  // namespace evo::cli
