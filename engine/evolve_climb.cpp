#include "engine/evolve_climb.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace evo {
namespace {

constexpr int kDraws = 20;  // for a gene that can change, for a genome not asked before
/// What counts as getting better, as a logarithm: half a percent.
constexpr double kNoticeable = 0.005;
constexpr const char* kNeighbour = "neighbour";

}  // namespace

EvolveClimb::EvolveClimb(const Space& space, const Encoding& encoding, const EvolveTuning& tuning,
                         Ledger& ledger, Rng& rng, std::vector<Point> known)
    : space_(space),
      encoding_(encoding),
      tuning_(tuning),
      ledger_(ledger),
      rng_(rng),
      forest_(encoding_, {.trees = tuning.trees, .tries = tuning.tries, .pair_share = tuning.pairs}),
      rankings_(space.families().size()),
      founders_(std::move(known)) {}

Proposal EvolveClimb::ask() {
  if (asked_++ < tuning_.founders) return founder();
  if (ranking_.empty()) return immigrant();
  if (pool_.empty() || told_since_fit_ >= fit_interval() || (found_better_ && told_since_fit_ > 0)) {
    fit();
    breed();
    told_since_fit_ = 0;
    found_better_ = false;
  }
  return most_promising();
}

void EvolveClimb::tell(Point point, const Answer& answer) {
  Told told{answer.ticket, std::move(point), 0};
  const auto index = static_cast<std::uint32_t>(told_.size());
  rows_.resize(rows_.size() + encoding_.columns());
  encoding_.encode(told.point, rows_.data() + rows_.size() - encoding_.columns());
  ++told_since_fit_;
  ++told_since_better_;
  if (!answer.latency_us) {
    told_.push_back(std::move(told));
    failed_.push_back(index);
    return;
  }
  told.log_latency = std::log(*answer.latency_us);
  told_.push_back(std::move(told));
  enter(ranking_, index);
  enter(rankings_[told_[index].point.family], index);
  if (ranking_.front() == index) note_progress();
}

void EvolveClimb::note_progress() {
  found_better_ = true;
  if (ranking_.size() > 1 && best() > noticed_best_ - kNoticeable) return;
  noticed_best_ = best();
  told_since_better_ = 0;
}

double EvolveClimb::best() const {
  return ranking_.empty() ? std::numeric_limits<double>::infinity() : ranked(0).log_latency;
}

std::vector<Point> EvolveClimb::peaks() const {
  std::vector<Point> peaks;
  for (const Ranking& ranking : rankings_) {
    if (!ranking.empty()) peaks.push_back(told_[ranking.front()].point);
  }
  return peaks;
}

// Families take turns, so that a small one is not lost beside a large one.
Point EvolveClimb::sample() {
  return space_.sample_point(rng_, samples_++ % space_.families().size());
}

void EvolveClimb::enter(Ranking& ranking, std::uint32_t index) const {
  const auto place = std::upper_bound(
      ranking.begin(), ranking.end(), told_[index].log_latency,
      [this](double log_latency, std::uint32_t other) { return log_latency < told_[other].log_latency; });
  ranking.insert(place, index);
}

// Founders keep apart, so that they tell something of every gene.
Proposal EvolveClimb::founder() {
  Point chosen = ledger_.draw(rng_);
  double farthest = -1;
  for (std::size_t draw = 0; draw < tuning_.spread; ++draw) {
    Point point = sample();
    if (ledger_.asked(point)) continue;
    double nearest = std::numeric_limits<double>::max();
    for (const Point& other : founders_) nearest = std::min(nearest, distance(point, other));
    if (nearest <= farthest) continue;
    farthest = nearest;
    chosen = std::move(point);
  }
  founders_.push_back(chosen);
  return ledger_.propose(std::move(chosen), "random", {});
}

// The sum over genes: 1 from one end of the numbers to the other, or for any other difference.
double EvolveClimb::distance(const Point& a, const Point& b) const {
  const std::vector<Gene>& genes = space_.families()[a.family].genes;
  if (a.family != b.family) return static_cast<double>(genes.size());
  double sum = 0;
  for (std::size_t i = 0; i < genes.size(); ++i) {
    if (a.alleles[i] == b.alleles[i]) continue;
    const bool ordered =
        genes[i].kind == Gene::Kind::number && a.alleles[i] != kInactive && b.alleles[i] != kInactive;
    sum += ordered ? std::abs(a.alleles[i] - b.alleles[i]) / static_cast<double>(genes[i].alleles.size() - 1)
                   : 1;
  }
  return sum;
}

Proposal EvolveClimb::immigrant() {
  for (int draw = 0; draw < kDraws; ++draw) {
    Point point = sample();
    if (!ledger_.asked(point)) return ledger_.propose(std::move(point), "random", {});
  }
  return ledger_.propose(ledger_.draw(rng_), "random", {});
}

std::size_t EvolveClimb::fit_interval() const {
  return 1 + static_cast<std::size_t>(tuning_.fit_every *
                                      static_cast<double>(std::min(told_.size(), tuning_.memory)));
}

void EvolveClimb::fit() {
  const double best = ranked(0).log_latency;
  const auto median = static_cast<std::size_t>(static_cast<double>(ranking_.size() - 1) * tuning_.good_share);
  const double slow = ranked(median).log_latency - best;
  std::vector<float> rows;
  std::vector<float> targets;
  const auto learn = [&](std::uint32_t index, double target) {
    const float* row = rows_.data() + index * encoding_.columns();
    rows.insert(rows.end(), row, row + encoding_.columns());
    targets.push_back(static_cast<float>(target));
  };
  const std::size_t best_kept =
      told_.size() <= tuning_.memory ? ranking_.size() : std::min(ranking_.size(), tuning_.memory / 2);
  for (std::size_t rank = 0; rank < best_kept; ++rank)
    learn(ranking_[rank], std::min(slow, ranked(rank).log_latency - best));
  // Of what is left, failures and others have equal chances.
  const std::size_t others = ranking_.size() - best_kept + failed_.size();
  const std::size_t kept = std::min(others, tuning_.memory - std::min(tuning_.memory, best_kept));
  for (std::size_t i = 0; i < kept; ++i) {
    const std::size_t drawn = kept == others ? i : rng_.below(others);
    if (drawn < failed_.size()) {
      learn(failed_[drawn], tuning_.failure * slow);
    } else {
      const std::size_t rank = best_kept + drawn - failed_.size();
      learn(ranking_[rank], std::min(slow, ranked(rank).log_latency - best));
    }
  }
  forest_.fit(rows, targets, rng_);
}

void EvolveClimb::breed() {
  pool_.clear();
  for (const Ranking& ranking : rankings_) breed_from(ranking);
  for (std::size_t i = 0; i < tuning_.immigrants; ++i) consider(sample(), "random", {}, 0);
}

// Families do not mix, and each has offspring: its turn comes.
void EvolveClimb::breed_from(const Ranking& ranking) {
  if (ranking.empty()) return;
  for (std::size_t rank = 0; rank < std::min(tuning_.bred, ranking.size()); ++rank) {
    const Point& parent = told_[ranking[rank]].point;
    for (std::size_t gene = 0; gene < parent.alleles.size(); ++gene) {
      for (Point& point : space_.neighbours(parent, gene, Space::Step::any))
        consider(std::move(point), kNeighbour, {ranking[rank], 0}, 1);
    }
  }
  for (std::size_t i = 0; i < tuning_.mutants; ++i) {
    const std::uint32_t parent = draw_parent(ranking);
    Point point = told_[parent].point;
    const std::uint64_t genes = 2 + rng_.below(2);
    for (std::uint64_t gene = 0; gene < genes; ++gene) point = mutated(point);
    consider(std::move(point), "mutate", {parent, 0}, 1);
  }
  for (std::size_t i = 0; i < tuning_.crossed; ++i) {
    const std::uint32_t a = draw_parent(ranking);
    const std::uint32_t b = draw_parent(ranking);
    if (a != b) consider(crossed(told_[a].point, told_[b].point), "crossover", {a, b}, 2);
  }
}

void EvolveClimb::consider(Point point, const char* op, std::array<std::uint32_t, 2> parents,
                           std::size_t parent_count) {
  if (ledger_.asked(point)) return;
  row_.resize(encoding_.columns());
  encoding_.encode(point, row_.data());
  pool_.push_back({std::move(point), op, parents, parent_count, forest_.predict(row_.data())});
}

std::uint32_t EvolveClimb::draw_parent(const Ranking& ranking) {
  return ranking[rng_.below(std::min(tuning_.parents, ranking.size()))];
}

// One gene changed, and those that the constraints tie to it only where nothing else is legal.
Point EvolveClimb::mutated(const Point& point) {
  const std::vector<Gene>& genes = space_.families()[point.family].genes;
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::size_t gene = rng_.below(genes.size());
    const std::size_t alleles = genes[gene].alleles.size();
    if (alleles < 2 || point.alleles[gene] == kInactive) continue;
    std::vector<Point> neighbours = space_.neighbours(point, gene, Space::Step::any);
    if (!neighbours.empty()) return std::move(neighbours[rng_.below(neighbours.size())]);
    Point wish = point;
    wish.alleles[gene] = static_cast<int>(rng_.below(alleles));
    std::vector<bool> kept(genes.size());
    kept[gene] = true;
    if (auto nearest = space_.complete(wish, kept, rng_)) return *nearest;
  }
  return point;
}

Point EvolveClimb::crossed(const Point& a, const Point& b) {
  Point wish = a;
  for (std::size_t gene = 0; gene < wish.alleles.size(); ++gene) {
    if (a.alleles[gene] == kInactive || (b.alleles[gene] != kInactive && rng_.below(2) == 0))
      wish.alleles[gene] = b.alleles[gene];
  }
  return space_.contains(wish) ? wish : *space_.complete(wish, {}, rng_);
}

// A family that starts badly may still hold the best: every so many asks goes to one that does not lead, in
// turn.
std::optional<std::uint32_t> EvolveClimb::family_in_turn() {
  const std::size_t families = rankings_.size();
  if (families < 2 || tuning_.turns == 0 || ++asked_since_turn_ < tuning_.turns) return std::nullopt;
  asked_since_turn_ = 0;
  do {
    last_turn_ = (last_turn_ + 1) % families;
  } while (last_turn_ == ranked(0).point.family);
  return static_cast<std::uint32_t>(last_turn_);
}

// The forest errs about what nobody tried near the best: a gene that matters only there looks as it does
// elsewhere.
bool EvolveClimb::turn_of_neighbours() {
  if (tuning_.near == 0 || ++asked_since_neighbour_ < tuning_.near) return false;
  asked_since_neighbour_ = 0;
  return true;
}

bool EvolveClimb::neighbour_of_best(const Offspring& offspring) const {
  return offspring.op == kNeighbour && offspring.parents[0] == ranking_.front();
}

/// Index in the pool.
template <typename Admitted>
std::optional<std::size_t> EvolveClimb::most_promising_of(Admitted admitted) const {
  std::optional<std::size_t> chosen;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < pool_.size(); ++i) {
    const double promised = pool_[i].prediction.mean - tuning_.exploration * pool_[i].prediction.spread;
    if (promised >= least || !admitted(pool_[i]) || ledger_.asked(pool_[i].point)) continue;
    least = promised;
    chosen = i;
  }
  return chosen;
}

Proposal EvolveClimb::most_promising() {
  const std::optional<std::uint32_t> family = family_in_turn();
  std::optional<std::size_t> chosen;
  if (!family && turn_of_neighbours())
    chosen = most_promising_of([&](const Offspring& offspring) { return neighbour_of_best(offspring); });
  if (!chosen)
    chosen = most_promising_of(
        [&](const Offspring& offspring) { return !family || offspring.point.family == *family; });
  if (!chosen) return immigrant();
  Offspring offspring = std::move(pool_[*chosen]);
  pool_[*chosen] = std::move(pool_.back());
  pool_.pop_back();
  std::vector<std::uint64_t> parents;
  for (std::size_t i = 0; i < offspring.parent_count; ++i)
    parents.push_back(told_[offspring.parents[i]].ticket);
  return ledger_.propose(std::move(offspring.point), offspring.op, std::move(parents));
}

}  // namespace evo
