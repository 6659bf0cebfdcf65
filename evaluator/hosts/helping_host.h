#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "evaluator/base/job_queue.h"
#include "evaluator/hosts/compile_job.h"
#include "evaluator/hosts/model_job.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/worker/channel.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

/// Another host, and how commands run there.
struct OtherHost {
  std::string name;
  std::string prefix;   ///< evaluator/worker/prefix_command.h
  std::string program;  ///< This program's path there.
};

/// How many programs were compiled or modelled on a host.
struct HostShare {
  std::string host;
  std::uint64_t programs = 0;
};

/// Another host that compiles or models programs (CompileJob, ModelJob): one process there (helping_server.h) that gets
/// as many jobs as it can work on at once. Its compiler must build the same programs as this host's, so that no result
/// depends on the host. When the host is lost, or may have caused a crash or a missed deadline, its jobs go back into
/// the queue to be done here. A lost host is asked again after a pause.
template <typename Job>
class HelpingHost {
 public:
  /// It uses these `options`: the device (to compile, only its architecture), the worker command, both deadlines, the
  /// binaries, the lease, the pause before a lost host is asked again, and the notice. All but the host must live
  /// longer; the stop signal must have been raised before this is destroyed. Programs then under way end with Stopped.
  HelpingHost(OtherHost host, const PipelineOptions& options, JobQueue<Job>& jobs, const StopSignal& stop);
  ~HelpingHost();
  HelpingHost(const HelpingHost&) = delete;
  HelpingHost& operator=(const HelpingHost&) = delete;

  /// There may be a job.
  void wake() { wake_.raise(); }
  const OtherHost& host() const { return host_; }
  /// Programs that it gave an answer for.
  std::uint64_t done() const { return done_; }

 private:
  struct UnderWay {
    Job job;
    Clock::time_point sent;
  };

  void work();
  void serve();
  std::string why_unlike(WorkerClient& there) const;
  void take_jobs(WorkerClient& there);
  void finish(Job job, protocol::Reply reply);
  void give_back(Job job);
  void say(const std::string& what) const;

  OtherHost host_;
  const PipelineOptions& options_;
  JobQueue<Job>& jobs_;
  const StopSignal& stop_;
  WakeSignal wake_;
  std::atomic<std::uint64_t> done_ = 0;
  bool absent_ = false;                          ///< It was said that it is.
  std::map<std::uint64_t, UnderWay> under_way_;  ///< By request, the oldest first.
  std::thread thread_;
};

/// The other hosts of a pool. Any thread may call its methods.
template <typename Job>
class HelpingHosts {
 public:
  /// As HelpingHost.
  HelpingHosts(const PipelineOptions& options, JobQueue<Job>& jobs, const StopSignal& stop);

  /// One that is there already, by its prefix, is left alone.
  void join(const OtherHost& host);
  /// There may be a job.
  void wake();
  /// Of this host `here` programs, and it comes first.
  std::vector<HostShare> shares(std::uint64_t here) const;

 private:
  const PipelineOptions& options_;
  JobQueue<Job>& jobs_;
  const StopSignal& stop_;
  mutable std::mutex mutex_;  ///< Of what follows.
  std::vector<std::unique_ptr<HelpingHost<Job>>> hosts_;
};

extern template class HelpingHost<ModelJob>;
extern template class HelpingHost<CompileJob>;
extern template class HelpingHosts<ModelJob>;
extern template class HelpingHosts<CompileJob>;

}  // namespace evo
