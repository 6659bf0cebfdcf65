#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/replay/recording.h"
#include "engine/search/latency_predictor.h"
#include "engine/search/seeds.h"
#include "engine/space/space.h"

namespace evo {

/// A recording as something to search: its space, and the row of each genome.
class RecordedSpace {
 public:
  /// The recording must outlive it.
  explicit RecordedSpace(const Recording& recording);

  const Recording& recording() const { return recording_; }
  const Space& space() const { return space_; }
  std::size_t row_of(const Genome& genome) const;

 private:
  const Recording& recording_;
  Space space_;
  std::unordered_map<Point, std::size_t, PointHash> rows_;
};

/// Gives the recorded predictions of the rows.
class RecordedLatencyPredictor : public InstantPredictor {
 public:
  /// `rows`: by row. Both must outlive it.
  RecordedLatencyPredictor(const RecordedSpace& space, const std::vector<PredictedLatency>& rows);
  std::size_t traits() const override { return traits_; }

 protected:
  std::optional<PredictedLatency> prediction(const Genome& genome) override;

 private:
  const RecordedSpace& space_;
  const std::vector<PredictedLatency>& rows_;
  std::size_t traits_ = 0;
};

/// How long a replayed run is. It ends when both have been reached, or the space is exhausted.
struct ReplayLimits {
  std::size_t evaluations = 0;  ///< At least this many.
  double seconds = 0;           ///< At least this much recorded compile and benchmark time.
  std::size_t width = 1;        ///< Candidates in flight.
  std::size_t screen = 1;       ///< Proposals for each that is evaluated, which is the one predicted best.
  std::size_t presearch = 0;    ///< Genomes of the pre-search that opens the run; 0: no pre-search, then or later.
  std::size_t ahead = 0;        ///< Evaluations that are begun while a prediction is under way.
};

/// One run of a strategy by name through the search loop, with recorded results. Returns the rows in the
/// order they were evaluated, failures included. `seeds` are proposed first. `predicted`: by row; for
/// limits.screen and limits.presearch.
std::vector<std::size_t> replay(const RecordedSpace& space, std::string_view strategy, std::uint64_t seed,
                                const ReplayLimits& limits, const std::vector<Seed>& seeds = {},
                                const std::vector<PredictedLatency>& predicted = {});

}  // namespace evo
