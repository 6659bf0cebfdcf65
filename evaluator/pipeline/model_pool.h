#pragma once

#include <cstdint>
#include <future>
#include <thread>
#include <variant>
#include <vector>

#include "engine/task/candidate.h"
#include "engine/task/profile.h"
#include "evaluator/base/job_queue.h"
#include "evaluator/device/inputs.h"
#include "evaluator/pipeline/pipeline_options.h"
#include "evaluator/worker/channel.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// What the cost model predicts for a program at one shape.
struct Forecast {
  double latency_us = 0;                ///< Of one warm call.
  std::vector<LaunchProfile> launches;  ///< Of that call.
  Build build;
};

/// Compiles programs and predicts their latencies by a virtual GPU's cost model. This happens in several worker
/// processes at once, first come, first served: a compiler or a kernel that crashes or hangs costs a worker, never the
/// search.
class ModelPool {
 public:
  using Result = std::variant<Forecast, Failure>;

  /// Of `options` it uses the device, which must be modelled, the worker command, both deadlines and the binaries.
  ModelPool(PipelineOptions options, int workers);
  /// Does not wait: programs under way end with Stopped.
  ~ModelPool();
  ModelPool(const ModelPool&) = delete;
  ModelPool& operator=(const ModelPool&) = delete;

  /// `shape`: of one of the program's plans; `recipe`: its inputs. The future throws when the machine has failed.
  std::future<Result> model(const Program& program, const std::string& shape, CaseRecipe recipe);

 private:
  struct Job {
    protocol::Compile compile;
    protocol::Load load;  ///< Without the binary.
    protocol::ReadCounters model;
    std::promise<Result> result;
  };
  class Pair;

  void work();

  PipelineOptions options_;
  StopSignal stop_;
  JobQueue<Job> jobs_;
  std::vector<std::thread> threads_;
};

}  // namespace evo
