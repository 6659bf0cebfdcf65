#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "engine/task/calibration.h"
#include "engine/task/candidate.h"
#include "evaluator/hosts/compile_pool.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/judge/cases.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// Which cases of a plan are judged on their device (evaluator/kernels/device_judge.h): those of large outputs, where
/// drawing and comparing cost more than the reference does, and whose limits need nothing of the reference's answers.
/// Together their answers take a quarter of the device's memory at most.
std::vector<bool> judged_there(const PipelineOptions& options, const std::optional<Calibration>& calibration,
                               const CasePlan& plan);

/// Gets one device's worker ready to judge, and to draw large inputs. Used by one thread.
class DeviceJudging {
 public:
  /// Has the pool compile the kernels. Everything must outlive it, but for the pool. `cases`: as judged_there says.
  DeviceJudging(const PipelineOptions& options, const CasePlan& plan, const std::vector<bool>& cases,
                CompilePool& pool);

  /// Has the worker load the kernels and keep the answers that it lacks, as it does after each start. Nothing may be on
  /// its way. What cannot be judged there is the host's from then on; where the worker is lost meanwhile, until the
  /// next one is asked. Throws what the pool and the worker throw.
  void make_ready(WorkerClient& device);
  /// Whether a case is judged there.
  bool judges(std::size_t number) const { return kept_[number]; }
  /// The worker keeps its answer no more.
  void lose(std::size_t number) { kept_[number] = false; }

 private:
  struct Loadable {
    Program program;
    std::shared_future<CompilePool::Result> compiled;
  };
  void add(Program program, CompilePool& pool);
  bool load(WorkerClient& device);
  std::optional<std::uint64_t> reference_for(const Case& one) const;
  void lose_worker(const Lost& lost);
  void leave_to_host(const std::string& why);

  const PipelineOptions& options_;
  const CasePlan& plan_;
  std::vector<bool> cases_, kept_;  ///< By case: judged there if possible; now.
  std::vector<Loadable> programs_;  ///< The judge's, then the reference's: modules from kJudgeModule on; none:
                                    ///< the host judges.
  int starts_ = 0;                  ///< Of the worker that has loaded them.
  int losses_ = 0;                  ///< Workers that were lost while they got ready.
};

}  // namespace evo
