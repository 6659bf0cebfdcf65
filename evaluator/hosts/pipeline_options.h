#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/result/evaluation.h"
#include "engine/task/candidate.h"
#include "engine/task/task.h"
#include "evaluator/device/device.h"
#include "evaluator/worker/worker_client.h"

namespace evo {

class BinaryCache;

/// A candidate that an earlier pipeline of the same run evaluated.
struct Finished {
  std::uint64_t ticket = 0;
  Candidate candidate;
  Evaluation evaluation;
};

/// What a pipeline evaluates candidates of, on which device, and how much it may spend.
struct PipelineOptions {
  Task task;
  SourceTree tree;  ///< Holds the reference.
  Target target;
  DeviceInfo device;
  std::vector<DeviceInfo> further_devices = {};  ///< Of the same model as `device`; each candidate runs on one of all.
  std::uint64_t salt = 0;                        ///< Mixed into every seed.
  int compile_workers = 0;                       ///< 0: one for each core.
  int device_threads = 0;                        ///< Of a device that computes on the CPU; 0: as many as are free.
  double compile_deadline_s = 60;
  double run_deadline_s = 0;  ///< For each case and each timing on the device; 0: the device kind's.
  bool dedup = true;          ///< Whether a copy of an earlier candidate gets that one's result instead of its own.
  std::vector<Finished> finished = {};  ///< Of a resumed run: copies of these are recognised too.
  /// Of a worker on another host: without a sign of life for so long either side takes the other for gone.
  double lease_s = 20;
  double return_s = 60;         ///< So often a device of another host that was lost is looked for.
  double timing_seconds = 0.5;  ///< Budget of one timing.
  /// Candidates compete for three places. One that is plainly slower than the third best is timed briefly, and cold
  /// launches are timed only of one that is faster.
  bool competing = false;
  /// Candidates are only judged, at the shapes that they have plans for. Nothing is timed. A device that sanitises
  /// watches every shape, and not only the cheapest and the timed ones.
  bool only_judging = false;
  bool watches_all_regimes = false;  ///< Of each shape; else one regime is watched.
  /// A case with so many bytes of outputs is judged where they are, if it can be (evaluator/pipeline/device_judging.h),
  /// and where one has so many bytes of inputs, they are drawn there; 0: large ones, on a device with memory of its
  /// own.
  std::uint64_t judged_there_from = 0;
  double turn_s = 0;                ///< Of an interleaved timing, half of it to warm up; 0: as the clocks ask for.
  std::uint64_t profile_every = 0;  ///< N: the counters of every Nth valid candidate are read; 0: of none.
  /// Given one line for people, by a thread of the pipeline: why counters cannot be read, which worker was lost through
  /// no fault of its candidate, which device is set aside. May be empty.
  std::function<void(const std::string&)> notice = {};
  /// Once it is set, wait() throws Stopped (worker_client.h). May be null.
  const std::atomic<bool>* stop = nullptr;
  /// Compiled programs, shared with a ModelPool: none is compiled twice. Null: one of the pipeline's own.
  std::shared_ptr<BinaryCache> binaries = nullptr;
  /// The program and first arguments of a worker, before its role. Empty: this executable with the argument "worker".
  std::vector<std::string> worker_command = {};
};

/// How a worker of this role ("compile" and a kind of devices, "device" and an id, or those of helping_server.h) is
/// started: one that needs the device on the device's own host. `stop` may be null.
WorkerOptions worker_options(const PipelineOptions& options, std::vector<std::string> role, const StopSignal* stop);

}  // namespace evo
