#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "engine/search/latency_predictor.h"
#include "engine/task/candidate.h"
#include "evaluator/pipeline/binary_cache.h"
#include "evaluator/pipeline/model_pool.h"

namespace evo::cli {

/// The cost model of the virtual GPU that is like a run's device, asked before candidates cost its time: the
/// geometric mean over the timed shapes. What does not compile, spills, or cannot run there is bound to fail; of
/// what the virtual GPU does not know, or what is lost through no fault of its own, nothing can be told.
class CostModelPredictor : public LatencyPredictor {
 public:
  using Build = std::function<Candidate(const Genome&)>;
  /// What it compiles is kept in `binaries`. `stop`, once set, ends what is being modelled; it must outlive this.
  /// Throws usage_error when no virtual GPU is like the device.
  CostModelPredictor(Task task, Target target, const DeviceInfo& device, Build build,
                     std::shared_ptr<BinaryCache> binaries, const std::atomic<bool>& stop);

  std::vector<PredictedLatency> predict(const std::vector<Genome>& genomes) override;

 private:
  /// A candidate whose timed shapes are being modelled.
  struct Pending {
    Candidate candidate;
    std::vector<std::size_t> programs;  // of the candidate, by timed shape
    std::vector<std::future<ModelPool::Result>> results;
  };
  Pending start(const Genome& genome);
  /// False when it was stopped before all results were there.
  bool wait_for(const Pending& pending) const;
  PredictedLatency finish(Pending pending) const;

  Task task_;
  Target target_;
  DeviceInfo device_;
  Build build_;
  const std::atomic<bool>& stop_;
  ModelPool pool_;
};

}  // namespace evo::cli
