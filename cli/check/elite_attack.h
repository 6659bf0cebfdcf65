#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/subject/claim.h"
#include "engine/result/elite_check.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/pipeline/kernel_attack.h"
#include "population/store/records.h"

namespace evo::cli {

/// Short attacks of kernels (evaluator/pipeline/kernel_attack.h) on one device: for 10 s on one that measures; so many
/// tries at small shapes on one that models, where the same salt and kernel give the same. What is found is to be kept.
/// What one kernel needs, such as the workers of the reference, is kept for the next. Used by one thread.
class EliteAttack {
 public:
  struct Options {
    DeviceInfo device;
    int device_threads = 0;  ///< As in PipelineOptions.
    std::uint64_t salt = 0;  ///< Of inputs and of the search for them.
    std::shared_ptr<BinaryCache> binaries = nullptr;
    const std::atomic<bool>* stop = nullptr;  ///< Once it is set, attack() throws Stopped (worker_client.h).
  };
  struct Result {
    EliteCheck check;
    std::optional<EliteFinding> finding;
    std::optional<AttackRecord> kept;  ///< To be kept: a find that was not known.
  };
  explicit EliteAttack(Options options);
  ~EliteAttack();
  EliteAttack(const EliteAttack&) = delete;
  EliteAttack& operator=(const EliteAttack&) = delete;

  /// `known`: tried first. Throws where the machine fails.
  Result attack(const Claim& claim, std::vector<KnownAttack> known);

 private:
  struct Group;
  Group& group(const Claim& claim);

  const Options options_;
  std::map<std::string, std::unique_ptr<Group>> groups_;
};

}  // namespace evo::cli
