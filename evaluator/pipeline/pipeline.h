#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/search/evaluator.h"
#include "engine/task/evaluation.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"

namespace evo {

/// Every device that can be named here: CUDA GPUs, then the virtual models.
std::vector<DeviceInfo> all_devices();

/// "auto" (the first CUDA GPU, else vgpu:h200), "cuda:N", "vgpu", "vgpu:MODEL". Throws usage_error for a malformed name
/// and machine_error, saying what is missing, when it is not there.
DeviceInfo resolve_device(std::string_view name);

/// A candidate that a former pipeline of the same run has evaluated.
struct Finished {
  std::uint64_t ticket = 0;
  Candidate candidate;
  Evaluation evaluation;
};

class BinaryCache;

struct PipelineOptions {
  Task task;
  SourceTree tree;  ///< For the reference.
  Target target;
  DeviceInfo device;
  std::uint64_t salt = 0;   ///< Mixed into every seed.
  int compile_workers = 0;  ///< 0: one for each core.
  double compile_deadline_s = 60;
  /// For each request to a device worker: one case, one timing. 0: 15 s on a GPU, where a case takes milliseconds and
  /// every deadlocked kernel costs a whole deadline; 60 s on the virtual GPU.
  double run_deadline_s = 0;
  bool dedup = true;  ///< Off for verify: every candidate is built and measured afresh.
  /// Of a resumed run: copies of these are recognised, so that the run goes on as if it had never stopped.
  std::vector<Finished> finished = {};
  double timing_seconds = 0.5;  ///< Budget of one timing.
  /// Shared with a ModelPool: what it has compiled is not compiled again. Null: one of the pipeline's own.
  std::shared_ptr<BinaryCache> binaries = nullptr;
  /// The program and first arguments of a worker; empty: this executable with the argument "worker". Its role follows.
  std::vector<std::string> worker_command;
};

/// Candidates timed in turns.
struct Turns {
  bool modelled = false;
  /// By candidate: the objective of each round; round i of one is the neighbour in time of round i of another.
  std::vector<std::vector<double>> rounds_us;
  std::vector<std::optional<std::string>> failures;  ///< By candidate: why it could not be timed.
  int throttled = 0;                                 ///< Samples taken under lowered clocks.
};

/// Asked after each round whether it was the last one; on a thread of the pipeline. Empty: all rounds are played.
using TurnsEnd = std::function<bool(const Turns& so_far)>;

/// An evaluator that can also time candidates against each other.
class DevicePipeline : public Evaluator {
 public:
  /// Builds and times candidates that are known to be right, in turns, before the device goes on with what was
  /// submitted. `rounds`: at most. Waits for the result. Throws as wait() does.
  virtual Turns time_in_turns(const std::vector<Candidate>& candidates, int rounds, const TurnsEnd& end = {}) = 0;
};

/// Candidates of one key do the same work: their builds, one for each program, are the same code, launched in the same
/// way.
std::string key_of_builds(const Candidate& candidate, const std::vector<Build>& builds);

/// The evaluation pipeline: legality, deduplication, compile pool, one device worker, validation in this process.
/// Results come in the order of submission, and do not depend on which process was faster. A candidate whose worker was
/// lost before it began is tried once more; an infrastructure failure gives harness_failed, several in a row end the
/// run. The destructor ends every worker process. Throws machine_error when the device or the compiler cannot be
/// opened; wait() throws usage_error when the task's reference is at fault.
std::unique_ptr<DevicePipeline> make_pipeline(PipelineOptions options);

/// The hidden command behind worker processes: serves requests on the inherited socket until it closes. `arguments` are
/// what follows "worker". Returns the exit code.
int worker_main(const std::vector<std::string>& arguments);

}  // namespace evo
