#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/search/latency_predictor.h"
#include "engine/search/seeds.h"
#include "engine/space/space.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// The origin of a seed that a pre-search found, as databases have it.
inline constexpr std::string_view kPresearched = "a rehearsal";

/// A model-only pre-search: a search in which a predictor stands in for the device.
struct Presearch {
  std::size_t genomes = 512;  ///< Predicted in all, over all climbs.
  std::size_t climbs = 2;     ///< Searches, each from its own random genomes.
  std::size_t together = 32;  ///< Genomes predicted at once, to keep every core busy.
  std::size_t kept = 4;       ///< Seeds at most that are predicted fastest.
  std::size_t varied = 4;     ///< Further seeds at most, nearly as fast, for the alleles that those lack.
};

/// Genomes with what was predicted of them.
using PredictedGenomes = std::vector<std::pair<Genome, PredictedLatency>>;

/// One search in which a predictor stands in for the device, batch by batch. While a batch is predicted, the caller can
/// do something else, and has it begun at once or little by little.
class PresearchClimb {
 public:
  /// By `strategy`, which predicts `genomes`, in batches of `together`. `space` and `predictor` must outlive it. Throws
  /// as make_strategy does.
  PresearchClimb(const Space& space, std::string_view strategy, std::uint64_t seed, LatencyPredictor& predictor,
                 std::size_t genomes, std::size_t together);

  /// Has this share, 0 to 1, of the batch's predictions begun.
  void begin(double share);
  /// Waits for the whole batch, answers the strategy, and goes on to the next one. False once there is none, and from
  /// then on: all genomes are predicted, the space is exhausted or the predictor was interrupted.
  bool advance();
  /// The genomes with a finite prediction, in the order predicted.
  const PredictedGenomes& predicted() const { return predicted_; }

 private:
  void choose_batch();

  struct Pending {
    std::uint64_t ticket = 0;
    Genome genome;
    std::optional<PendingPrediction> prediction;  // once it is begun
  };
  LatencyPredictor& predictor_;
  std::unique_ptr<Strategy> strategy_;
  std::size_t genomes_;  // not in a batch yet
  std::size_t together_;
  std::vector<Pending> batch_;
  PredictedGenomes predicted_;
};

/// The genomes with the least predicted latencies, best first; no two of them make the same program, and any two differ
/// in more than a sixth of their genes, at least in two.
std::vector<Seed> best_apart(const Space& space, PredictedGenomes predicted, std::size_t count);

/// For the alleles that no genome of `seeds` has: each time the genome that has most of them, of equal ones the one
/// predicted fastest, until there are `count` or none has any. Only genomes predicted at most 15 % slower than the best
/// count: so much the cost model errs in one genome beside another (docs/vgpu_cost_model.md).
std::vector<Seed> lacking_alleles(const std::vector<Seed>& seeds, const PredictedGenomes& predicted, std::size_t count);

/// Runs searches by `strategy` that get predicted latencies instead of measured ones, and returns best_apart() of all,
/// then lacking_alleles().
/// `out_of_time` is asked between batches and may be empty. It ends the pre-search early, as an interrupted predictor
/// does; the genomes predicted until then count. Throws as make_strategy does.
std::vector<Seed> run_presearch(const Space& space, std::string_view strategy, std::uint64_t seed,
                                LatencyPredictor& predictor, const Presearch& presearch,
                                const std::function<bool()>& out_of_time = {});

}  // namespace evo
