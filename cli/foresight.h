#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cli/modelling.h"
#include "engine/screen.h"

namespace evo::cli {

/// The cost model of the virtual GPU that is like a run's device, asked before candidates cost its time: the
/// geometric mean over the timed shapes. What does not compile, spills, or cannot run there is bound to fail; of
/// what the virtual GPU does not know nothing can be told.
class ModelForesight : public Foresight {
 public:
  using Build = std::function<Candidate(const Genome&)>;
  /// `build` is called by several threads at once. Throws usage_error when no virtual GPU is like the device.
  ModelForesight(Task task, Target target, const DeviceInfo& device, Build build);

  std::vector<std::optional<double>> latencies(const std::vector<Genome>& genomes) override;

 private:
  std::optional<double> latency(Modeller& modeller, const Genome& genome) const;
  /// One that nobody uses.
  std::unique_ptr<Modeller> borrow();
  void give_back(std::unique_ptr<Modeller> modeller);

  Task task_;
  Target target_;
  DeviceInfo device_;
  Build build_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Modeller>> idle_;
};

}  // namespace evo::cli
