#pragma once

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/result/evaluation.h"
#include "engine/search/evaluator.h"
#include "evaluator/hosts/helping_host.h"
#include "evaluator/hosts/pipeline_options.h"
#include "evaluator/timing/interleaved_timing.h"
#include "evaluator/timing/lane_times.h"

namespace evo {

/// An evaluator that can also time candidates against each other.
class DevicePipeline : public Evaluator {
 public:
  /// Builds valid candidates and times them interleaved: round after round, each once in a round. Ends after `rounds`,
  /// or earlier when `enough`, called by another thread, says so. The device that is free first does it, before any
  /// other candidate; the other devices go on meanwhile. Throws as wait() does, or its result does.
  virtual std::future<InterleavedTimings> start_interleaved(std::vector<Candidate> candidates, int rounds,
                                                            EnoughRounds enough = {}) = 0;
  /// The same; waits for the result.
  InterleavedTimings time_interleaved(std::vector<Candidate> candidates, int rounds, EnoughRounds enough = {}) {
    return start_interleaved(std::move(candidates), rounds, std::move(enough)).get();
  }
  /// Times one valid candidate on every device, on all at once. By device as devices() has them; a device that is
  /// of no more use has a failure. Otherwise as time_interleaved.
  virtual std::vector<InterleavedTimings> time_on_each(const Candidate& candidate, int rounds) = 0;
  /// A valid candidate, by its source_hash(), was found wrong: later ones need not beat it. From any thread.
  virtual void disqualify(const std::string& source_hash) = 0;
  /// Adds a device of the model of the others: it takes candidates once it is open. One that does not open is treated
  /// as one that was lost. This method and the next may be called from any thread.
  virtual void join(const DeviceInfo& device) = 0;
  /// Another host compiles candidates, too. This method and the next may be called from any thread.
  virtual void compile_on(const OtherHost& host) = 0;
  /// How many programs were compiled where, this host first.
  virtual std::vector<HostShare> compiled() const = 0;
  /// In the order of the options, then of joining.
  virtual std::vector<DeviceInfo> devices() const = 0;
  /// Since it was made, up to now.
  virtual LaneTimes times() = 0;
};

/// Starts the evaluation pipeline: legality, duplicates, compile workers, a worker for each device, validation in this
/// process.
///
/// Results do not depend on which process was faster. With one device they come in the order of submission, with
/// several as they are there: each candidate runs on the device that is free. A candidate whose worker was lost before
/// it began is tried once more. A failure of the machine gives harness_failed, with several devices after a second one
/// failed it too. Several in a row set a device aside, and without any other they end the run. The destructor ends
/// every worker process.
///
/// Throws machine_error when a device or the compiler cannot be opened. wait() throws usage_error when the task's
/// reference is at fault.
std::unique_ptr<DevicePipeline> make_pipeline(PipelineOptions options);

}  // namespace evo
