#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/task/genome.h"

namespace evo {

/// What a predictor says of a genome.
struct PredictedLatency {
  /// In any unit, the same for all genomes. Infinite for a genome that will fail; empty where there is no prediction.
  std::optional<double> latency;
  std::string program = {};  ///< Equal for genomes that make the same program; empty where it is not known.
  /// What else the predictor knows of the genome, as LatencyPredictor::traits() numbers; empty: nothing.
  std::vector<float> traits = {};
};

/// A prediction under way. Copies share it. Used by one thread.
class PendingPrediction {
 public:
  /// Empty when the predictor was interrupted: the caller then stops asking.
  using Prediction = std::optional<PredictedLatency>;

  /// One that is there.
  explicit PendingPrediction(Prediction prediction);
  /// `ready`: whether `finish` would not wait. `finish` is called once.
  PendingPrediction(std::function<bool()> ready, std::function<Prediction()> finish);

  /// Whether get() would not wait: it is there, or the predictor was interrupted.
  bool ready() const;
  /// Waits for it.
  const Prediction& get() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Predicts latencies without measuring. Implementations: the virtual GPU's cost model, recorded tables, fakes.
class LatencyPredictor {
 public:
  virtual ~LatencyPredictor() = default;
  /// Begins a prediction and does not wait for it. The same genome always gets the same one.
  virtual PendingPrediction begin(const Genome& genome) = 0;
  /// How many traits a prediction has. Its errors are learnt from them, too.
  virtual std::size_t traits() const { return 0; }
  /// One prediction for each genome, in order; all are under way at once. None at all when the predictor was
  /// interrupted.
  std::vector<PredictedLatency> predict(const std::vector<Genome>& genomes);
};

/// A predictor that has its predictions at once.
class InstantPredictor : public LatencyPredictor {
 public:
  PendingPrediction begin(const Genome& genome) final;

 protected:
  /// Empty: it is interrupted.
  virtual std::optional<PredictedLatency> prediction(const Genome& genome) = 0;
};

/// Asks another predictor once for each genome: screening and pre-searches ask for some genomes more than once.
class CachedPredictor : public LatencyPredictor {
 public:
  explicit CachedPredictor(std::unique_ptr<LatencyPredictor> predictor);
  PendingPrediction begin(const Genome& genome) override;
  std::size_t traits() const override { return predictor_->traits(); }

 private:
  std::unique_ptr<LatencyPredictor> predictor_;
  std::unordered_map<std::string, PendingPrediction> known_;  // by the genome's text
};

}  // namespace evo
