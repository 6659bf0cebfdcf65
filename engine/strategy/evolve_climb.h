#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/strategy/evolve_tuning.h"
#include "engine/strategy/forest.h"
#include "engine/strategy/ledger.h"

namespace evo {

/// One climb of the strategy `evolve`. From a few random founders on, a forest of random trees learns the
/// latencies told so far from the genes, and failures with them. At each fit a pool of offspring is bred:
/// every genome one gene away from the best, and random ones. What is asked is the member of
/// the pool with the least promised latency, which is the trees' mean less what their disagreement leaves
/// open; but where the best has not become better for a while, a neighbour of the best: a gene that matters
/// only there looks to the forest as it does elsewhere. Latencies enter as logarithms relative to the best,
/// clipped at the median (failures count twice that), so that no figure here has a scale and the forest
/// spends its splits on what is worth telling apart.
class EvolveClimb {
 public:
  /// All must outlive it. `known`: points that its founders keep away from.
  EvolveClimb(const Space& space, const Encoding& encoding, const EvolveTuning& tuning, Ledger& ledger, Rng& rng,
              std::vector<Point> known);

  /// The ledger must not be exhausted.
  Proposal ask();
  void tell(Point point, const Answer& answer);

  /// Whether it has gone on for long without getting noticeably better.
  bool stalled() const { return no_progress_for(tuning_.patience); }
  /// The best of each family.
  std::vector<Point> peaks() const;

 private:
  struct Told {
    std::uint64_t ticket = 0;
    Point point;
    double log_latency = 0;  // of valid ones
  };
  struct Offspring {
    Point point;
    std::optional<std::uint32_t> parent;  // index of told_; random ones have none
    Prediction prediction;
  };
  using Ranking = std::vector<std::uint32_t>;  // indices of told_, best first; the older one of equals

  bool no_progress_for(std::size_t answers) const { return answers > 0 && told_since_better_ >= answers; }
  const Told& ranked(std::size_t rank) const { return told_[ranking_[rank]]; }
  void enter(Ranking& ranking, std::uint32_t index) const;
  void note_progress();

  Point sample();
  Point unasked();
  Proposal founder();
  double distance(const Point& a, const Point& b) const;

  std::size_t fit_interval() const;
  void fit();

  void breed();
  void consider_neighbours(std::uint32_t parent);
  void consider(Point point, std::optional<std::uint32_t> parent);

  std::optional<std::uint32_t> family_in_turn();
  Proposal most_promising();
  template <typename Admitted>
  std::optional<std::size_t> most_promising_of(Admitted admitted) const;

  const Space& space_;
  const Encoding& encoding_;
  const EvolveTuning& tuning_;
  Ledger& ledger_;
  Rng& rng_;
  Forest forest_;
  std::vector<Told> told_;         // in the order told
  std::vector<float> rows_;        // their encodings
  Ranking ranking_;                // the valid ones
  std::vector<Ranking> rankings_;  // the same, by family
  std::vector<std::uint32_t> failed_;
  std::vector<Point> founders_;  // and what they keep away from
  std::vector<Offspring> pool_;
  std::vector<float> row_;
  std::size_t asked_ = 0;
  std::size_t told_since_fit_ = 0;
  bool found_better_ = false;
  double noticed_best_ = 0;
  std::size_t told_since_better_ = 0;
  std::size_t samples_ = 0;
  std::size_t asked_since_turn_ = 0;
  std::size_t last_turn_ = 0;  // a family
};

}  // namespace evo
