#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/check/elite_attack.h"
#include "cli/check/further_trials.h"
#include "cli/run/run_setup.h"
#include "cli/subject/claim.h"
#include "engine/result/elite_check.h"
#include "evaluator/base/job_queue.h"
#include "evaluator/hosts/binary_cache.h"
#include "evaluator/pipeline/pipeline.h"
#include "population/store/store.h"

namespace evo::cli {

/// The checks of a run's elites (engine/result/elite_check.h), made by a thread of their own on cores that nothing else
/// wants: the sanitiser, sizes that nobody listed and a short attack, on the virtual GPU of the device's model. A
/// further check is added to make_checks().
class EliteCheckRunner {
 public:
  EliteCheckRunner(const PreparedRun& run, std::shared_ptr<BinaryCache> binaries, DevicePipeline& pipeline);
  /// Does not wait for checks under way.
  ~EliteCheckRunner();
  EliteCheckRunner(const EliteCheckRunner&) = delete;
  EliteCheckRunner& operator=(const EliteCheckRunner&) = delete;

  /// How the run's archive has them made. All arguments, and this, must outlive the result.
  EliteChecks checks(const Store& store, const std::atomic<bool>& stop,
                     const std::function<void(const std::string&)>& notice);

  /// The longest that the checks of one elite took until now; empty: none were made. From any thread.
  std::optional<std::chrono::steady_clock::duration> longest() const;

  /// What is under way: "candidate 4: sizes, 3 of 12 shapes". Empty: nothing is. From any thread.
  std::string standing() const;
  /// Ends all checks, those under way too: their elites stay provisional, and a line says why. From any thread.
  void end(const std::string& why);

 private:
  struct Job {
    CandidateId elite = 0;
    Claim claim;
    std::string source_hash;
    std::filesystem::path database;
    std::vector<KnownAttack> known;  ///< Attacks that were found since the run began.
    std::promise<CheckedElite> result;
  };

  /// Makes one check. Sets the finding if there is one; else the result says what was tried.
  struct Check {
    std::string name;
    std::function<EliteCheck(const Job&, std::optional<EliteFinding>&)> make;
  };

  std::future<CheckedElite> start(const Store& store, CandidateId elite);
  void work();
  std::vector<Check> make_checks();
  CheckedElite check(const std::vector<Check>& checks, const Job& job);
  void stand(std::string standing);
  void took(std::chrono::steady_clock::duration time);
  EliteCheck attack(const Job& job, std::optional<EliteFinding>& finding);

  const Task task_;  ///< With the attacks that were known when the run began.
  const std::uint64_t salt_;
  const bool modelled_;
  const std::optional<DeviceInfo> watching_;
  const std::string device_name_;
  std::shared_ptr<BinaryCache> binaries_;
  DevicePipeline& pipeline_;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::string standing_;  ///< Guarded by the mutex, as the next ones.
  std::string why_ended_;
  std::optional<std::chrono::steady_clock::duration> longest_;
  std::unique_ptr<FurtherTrials> trials_;  ///< The thread's, as the next ones.
  std::unique_ptr<EliteAttack> attack_;
  std::string check_;  ///< Which is made: "candidate 4: under the sanitiser".
  JobQueue<Job> jobs_;
  std::thread thread_;
};

}  // namespace evo::cli
