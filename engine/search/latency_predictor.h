#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/task/genome.h"

namespace evo {

/// What can be told of a genome without a device.
struct PredictedLatency {
  /// In any unit that is the same for all; infinite for one that is bound to fail, empty where nothing can be
  /// told.
  std::optional<double> latency;
  std::string program;  ///< The same for genomes that make the same program; empty where it is not known.
};

/// Predicts without a device. Implementations: the virtual GPU's cost model, tables, fakes.
class LatencyPredictor {
 public:
  virtual ~LatencyPredictor() = default;
  /// Of each genome in turn; the same genome has the same answer each time. No answers at all when it was
  /// told to stop: nothing more is asked then.
  virtual std::vector<PredictedLatency> predict(const std::vector<Genome>& genomes) = 0;
};

/// Asks another once for each genome: what a presearch predicted, a screen and later presearches meet again.
class CachedPredictor : public LatencyPredictor {
 public:
  explicit CachedPredictor(std::unique_ptr<LatencyPredictor> predictor);
  std::vector<PredictedLatency> predict(const std::vector<Genome>& genomes) override;

 private:
  std::unique_ptr<LatencyPredictor> predictor_;
  std::unordered_map<std::string, PredictedLatency> known_;  // by the genome's text
};

}  // namespace evo
