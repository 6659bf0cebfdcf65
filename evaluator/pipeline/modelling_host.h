#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

#include "evaluator/base/job_queue.h"
#include "evaluator/pipeline/model_job.h"
#include "evaluator/pipeline/pipeline_options.h"
#include "evaluator/worker/channel.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// Another host, and how commands run there.
struct OtherHost {
  std::string name;
  std::string prefix;   ///< evaluator/worker/prefix_command.h
  std::string program;  ///< This program's path there.
};

/// Another host that models programs: one process there (model_server.h) that is given as many jobs as it can work on
/// at once. Its compiler must build the programs that this host's builds, so that a forecast does not depend on where
/// it was made. Jobs go back into the queue, to be done here, when the host is lost and when their end may be the
/// host's doing: a crash, a deadline. A host that is lost is asked again after a pause.
class ModellingHost {
 public:
  /// Of `options` it uses those that ModelPool names. All but the host must live longer; the stop signal must have been
  /// raised before this is destroyed. Programs then under way end with Stopped.
  ModellingHost(OtherHost host, const PipelineOptions& options, JobQueue<ModelJob>& jobs, const StopSignal& stop);
  ~ModellingHost();
  ModellingHost(const ModellingHost&) = delete;
  ModellingHost& operator=(const ModellingHost&) = delete;

  /// There may be a job.
  void wake() { wake_.raise(); }
  const OtherHost& host() const { return host_; }
  /// Programs that it gave an answer for.
  std::uint64_t modelled() const { return modelled_; }

 private:
  struct UnderWay {
    ModelJob job;
    Clock::time_point sent;
  };

  void work();
  void serve();
  std::string why_unlike(WorkerClient& there) const;
  void take_jobs(WorkerClient& there);
  void finish(ModelJob job, protocol::Reply reply);
  void give_back(ModelJob job);
  void say(const std::string& what) const;

  OtherHost host_;
  const PipelineOptions& options_;
  JobQueue<ModelJob>& jobs_;
  const StopSignal& stop_;
  WakeSignal wake_;
  std::atomic<std::uint64_t> modelled_ = 0;
  bool absent_ = false;                          ///< It was said that it is.
  std::map<std::uint64_t, UnderWay> under_way_;  ///< By request, the oldest first.
  std::thread thread_;
};

}  // namespace evo
