#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cli/run/run_setup.h"
#include "engine/search/evaluator.h"
#include "engine/search/latency_predictor.h"
#include "evaluator/hosts/binary_cache.h"
#include "evaluator/hosts/model_pool.h"
#include "evaluator/pipeline/pipeline.h"

namespace evo::cli {

using MakeCandidate = std::function<Candidate(const Genome&)>;

/// The cost model that guides a run; null where none does.
struct RunModel {
  std::unique_ptr<LatencyPredictor> predictor;
  ModelPool* pool = nullptr;  ///< Where it models, this host and the run's others.
};

/// `stop` ends modelling; it must outlive the result.
RunModel start_model(const PreparedRun& run, const MakeCandidate& build, const std::shared_ptr<BinaryCache>& binaries,
                     const std::atomic<bool>& stop);

/// Whose counters are read.
struct ProfileWish {
  std::uint64_t every = 0;  ///< N: of every Nth valid candidate; 0: of none.
  bool elites = false;      ///< Of the run's elites, once it has ended.
};
ProfileWish profile_wish(const RunRequest& request, const DeviceInfo& device);

/// What a pipeline of the run is made with.
PipelineOptions pipeline_options(const PreparedRun& run, std::shared_ptr<BinaryCache> binaries);

/// The pipeline, and an evaluator in front of it that has the width with which the run was started.
struct RunPipeline {
  DevicePipeline* pipeline = nullptr;
  std::unique_ptr<Evaluator> in_front;
};

/// Sets the run's width where it names none. `finished`: what a resumed run has evaluated. `compiles`: the run's other
/// hosts compile for it.
RunPipeline start_pipeline(PreparedRun& run, std::vector<Finished> finished, std::shared_ptr<BinaryCache> binaries,
                           const ProfileWish& wish, bool compiles);

}  // namespace evo::cli
