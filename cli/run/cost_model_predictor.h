#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "engine/result/profile.h"
#include "engine/search/latency_predictor.h"
#include "engine/task/candidate.h"
#include "evaluator/hosts/binary_cache.h"
#include "evaluator/hosts/model_pool.h"

namespace evo::cli {

/// Predicts latencies with the cost model of the virtual GPU that models a run's device, as the geometric mean over the
/// timed shapes. A candidate that does not compile, spills registers or cannot run there is predicted to fail. A
/// candidate that the virtual GPU does not support, or whose worker was lost, gets no prediction.
class CostModelPredictor : public LatencyPredictor {
 public:
  using MakeCandidate = std::function<Candidate(const Genome&)>;
  /// Compiled programs are kept in `binaries`. `stop` ends modelling when it is set; it must outlive this object.
  /// Throws usage_error when no virtual GPU models the device.
  CostModelPredictor(Task task, Target target, const DeviceInfo& device, MakeCandidate make_candidate,
                     std::shared_ptr<BinaryCache> binaries, const std::atomic<bool>& stop);

  PendingPrediction begin(const Genome& genome) override;
  std::size_t traits() const override { return kTraits * target_.timed.size(); }
  /// Where it models; other hosts may join it.
  ModelPool& pool() { return pool_; }

 private:
  /// A candidate whose timed shapes are being modelled.
  struct Pending {
    Candidate candidate;
    std::vector<std::size_t> programs;  // the candidate's program for each timed shape
    std::vector<std::future<ModelPool::Result>> results;
  };
  Pending start(const Genome& genome);
  /// False when it was stopped before all results were there.
  bool wait_for(const Pending& pending) const;
  PredictedLatency finish(Pending pending) const;

  Task task_;
  Target target_;
  DeviceInfo device_;
  MakeCandidate make_candidate_;
  const std::atomic<bool>& stop_;
  ModelPool pool_;
};

}  // namespace evo::cli
