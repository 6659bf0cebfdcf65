#pragma once

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cli/run/run_setup.h"
#include "evaluator/hosts/model_pool.h"
#include "evaluator/pipeline/pipeline.h"
#include "evaluator/worker/channel.h"

namespace evo::cli {

/// Lets hosts join a run that goes on: those that are added to its hosts file, and those that did not answer before,
/// which are asked every minute. Says which joins, and once why one cannot.
class JoiningHosts {
 public:
  /// `models`: null where nothing is modelled; hosts then compile for the pipeline. Both must live longer.
  JoiningHosts(const RunRequest& request, const PreparedRun& run, DevicePipeline& pipeline, ModelPool* models);
  /// Soon, also while a host is being asked.
  ~JoiningHosts();
  JoiningHosts(const JoiningHosts&) = delete;
  JoiningHosts& operator=(const JoiningHosts&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  struct Absent {
    std::string prefix;
    Clock::time_point asked_next;
    bool told = false;  ///< Why it is absent.
  };

  void watch();
  void find_new();
  /// Whether it has joined.
  bool ask(Absent& host);

  const std::string file_;  ///< Empty: none.
  const std::string list_;  ///< Of devices.
  DevicePipeline& pipeline_;
  ModelPool* const models_;
  std::multiset<std::string> known_;
  std::vector<Absent> absent_;
  StopSignal stop_;
  std::thread thread_;
};

}  // namespace evo::cli
