#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "engine/task/candidate.h"
#include "evaluator/base/job_queue.h"
#include "evaluator/device/inputs.h"
#include "evaluator/hosts/helping_host.h"
#include "evaluator/hosts/model_job.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/worker/channel.h"

namespace evo {

/// Compiles programs and predicts their latencies by a virtual GPU's cost model. This happens in several worker
/// processes at once, first come, first served: a compiler or a kernel that crashes or hangs costs a worker, never the
/// search. Other hosts may help.
class ModelPool {
 public:
  using Result = ModelResult;

  /// It uses these `options`: the device, which must be modelled, the worker command, both deadlines and the binaries;
  /// for other hosts also the lease, the pause before a lost host is asked again, and the notice. The device is opened
  /// on this host.
  ModelPool(PipelineOptions options, int workers);
  /// Does not wait: programs under way end with Stopped.
  ~ModelPool();
  ModelPool(const ModelPool&) = delete;
  ModelPool& operator=(const ModelPool&) = delete;

  /// `shape`: of one of the program's plans; `recipe`: its inputs. The future throws when the machine has failed.
  std::future<Result> model(const Program& program, const std::string& shape, CaseRecipe recipe);

  /// Another host models, too. One that is there already, by its prefix, is left alone.
  void join(const OtherHost& host) { hosts_.join(host); }
  /// This host first.
  std::vector<HostShare> shares() const { return hosts_.shares(modelled_); }

 private:
  void work();

  PipelineOptions options_;
  StopSignal stop_;
  JobQueue<ModelJob> jobs_;
  std::atomic<std::uint64_t> modelled_ = 0;  ///< Here.
  HelpingHosts<ModelJob> hosts_{options_, jobs_, stop_};
  std::vector<std::thread> threads_;
};

}  // namespace evo
