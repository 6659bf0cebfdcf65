#pragma once

#include <cstdint>
#include <future>
#include <thread>
#include <variant>
#include <vector>

#include "engine/task/candidate.h"
#include "evaluator/base/job_queue.h"
#include "evaluator/device/inputs.h"
#include "evaluator/pipeline/pipeline.h"
#include "evaluator/worker/channel.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// A program at one shape on a virtual GPU.
struct Forecast {
  double latency_us = 0;  ///< Warm.
  Build build;
};

/// Compiles programs and has a virtual GPU's cost model look at them, in several worker processes at once, first come,
/// first served: a compiler or a kernel that crashes or hangs costs a worker, never the search.
class ModelPool {
 public:
  using Result = std::variant<Forecast, Failure>;

  /// `options`: its virtual device, the command of workers, both deadlines and the binaries.
  ModelPool(PipelineOptions options, int workers);
  /// Waits for nothing: what is under way ends with Stopped.
  ~ModelPool();
  ModelPool(const ModelPool&) = delete;
  ModelPool& operator=(const ModelPool&) = delete;

  /// `plan`: one of the program's; `recipe`: its inputs. A failure of the machine comes out of the future as the
  /// exception it is.
  std::future<Result> model(const Program& program, const Plan& plan, CaseRecipe recipe);

 private:
  struct Job {
    protocol::Compile compile;
    protocol::Model model;
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
