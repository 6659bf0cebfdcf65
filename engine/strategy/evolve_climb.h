#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/strategy/evolve_tuning.h"
#include "engine/strategy/forest.h"
#include "engine/strategy/ledger.h"

namespace evo {

/// One climb of the strategy `evolve`: a model-based search from a few random founders. A forest of random trees learns
/// the latencies so far, and the failures, from the genes. At each fit a pool of offspring is made: all genomes one
/// gene away from the best ones, and random genomes. Each ask takes the member of the pool with the least lower
/// confidence bound: the mean of the trees less a multiple of their spread. When the best has not improved for a while,
/// neighbours of the best go first, because the forest cannot see a gene that matters only there. Latencies enter as
/// logarithms relative to the best and are clipped at the median; failures count twice that. No constant here therefore
/// has a unit, and the forest spends its splits on the fast half. Until there is a latency, the forest learns how many
/// validated cases the failures have reached, and random genomes are proposed that are likely to reach the most.
class EvolveClimb {
 public:
  /// All references must outlive it. Founders keep away from the points of `known`.
  EvolveClimb(const Space& space, const Encoding& encoding, const EvolveTuning& tuning, Ledger& ledger, Rng& rng,
              std::vector<Point> known);

  /// The ledger must not be exhausted.
  Proposal ask();
  void tell(Point point, const Answer& answer);
  /// As Strategy::retract. Offspring of the failure compete no longer.
  void retract(const Answer& failure);

  /// Whether the best has not improved noticeably for long.
  bool stalled() const { return no_progress_for(patience_); }
  /// The best of each family.
  std::vector<Point> peaks() const;

 private:
  struct Answered {
    std::uint64_t ticket = 0;
    Point point;
    double log_latency = 0;  // of valid ones
    std::size_t cases = 0;   // that a failure reached
    std::vector<float> traits = {};
  };
  struct Offspring {
    Point point;
    std::optional<std::uint32_t> parent;  // index of answered_; random ones have none
    Prediction prediction;
  };
  using Ranking = std::vector<std::uint32_t>;  // indices of answered_, best first; the older one of equals

  bool no_progress_for(std::size_t answers) const { return answers > 0 && answers_since_better_ >= answers; }
  const Answered& ranked(std::size_t rank) const { return answered_[ranking_[rank]]; }
  void enter(Ranking& ranking, std::uint32_t index) const;
  void note_progress();
  void note_failure(std::uint32_t index);
  /// Whether failures differ in how far they came, while nothing is valid.
  bool only_failures_differ() const;

  Point sample();
  Point sample_evenly();
  Point unasked();
  Proposal founder();
  double distance(const Point& a, const Point& b) const;

  std::size_t fit_interval() const;
  void fit();
  void fit_to_failures();

  /// A forest that predicts log_time_of a share from the genes.
  Forest time_forest(std::size_t share);
  void breed();
  void consider_neighbours(std::uint32_t parent);
  /// Favours those of the pool, from `first` on, that take time from what bounds their parent.
  void steer(std::uint32_t parent, std::size_t first);
  void consider(Point point, std::optional<std::uint32_t> parent);

  /// A family that does not lead, when it is due.
  std::optional<std::uint32_t> trailing_family();
  Proposal most_promising();
  template <typename Admitted>
  std::optional<std::size_t> most_promising_of(Admitted admitted) const;

  const Space& space_;
  const Encoding& encoding_;
  const EvolveTuning& tuning_;
  Ledger& ledger_;
  Rng& rng_;
  const std::size_t patience_;  // in answers
  Forest forest_;
  std::vector<Answered> answered_;  // in the order of the answers
  std::vector<float> rows_;         // their encodings
  Ranking ranking_;                 // the valid ones
  std::vector<Ranking> rankings_;   // the same, by family
  std::vector<std::uint32_t> failed_;
  std::vector<std::uint32_t> nearest_;  // failures, those that reached the most cases first; while nothing is valid
  std::vector<Point> founders_;         // and the points that they keep away from
  std::vector<Offspring> pool_;
  std::map<std::size_t, Forest> time_forests_;  // by share; since the last fit
  std::vector<float> row_;
  std::size_t asked_ = 0;
  std::size_t answers_since_fit_ = 0;
  bool found_better_ = false;
  double noticed_best_ = 0;
  std::size_t answers_since_better_ = 0;
  std::size_t samples_ = 0;
  std::size_t asked_since_trailing_ = 0;
  std::size_t last_trailing_ = 0;  // a family
};

}  // namespace evo
