#include "engine/strategy/evolve_climb.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "engine/base/noticeable.h"
#include "engine/result/profile.h"

namespace evo {
namespace {

constexpr int kClimbDraws = 20;  // for a genome not asked before

}  // namespace

EvolveClimb::EvolveClimb(const Space& space, const Encoding& encoding, const EvolveTuning& tuning, Ledger& ledger,
                         Rng& rng, std::vector<Point> known)
    : space_(space),
      encoding_(encoding),
      tuning_(tuning),
      ledger_(ledger),
      rng_(rng),
      patience_(static_cast<std::size_t>(tuning.patience * std::log2(static_cast<double>(space.size())))),
      forest_(encoding_, {.trees = tuning.trees, .tries = tuning.tries, .pair_share = tuning.pairs}),
      rankings_(space.families().size()),
      founders_(std::move(known)) {}

Proposal EvolveClimb::ask() {
  if (asked_++ < tuning_.founders || answered_.empty()) return founder();
  if (ranking_.empty() && !only_failures_differ()) return ledger_.propose(unasked(), "random", {});
  if (pool_.empty() || answers_since_fit_ >= fit_interval() || (found_better_ && answers_since_fit_ > 0)) {
    fit();
    breed();
    answers_since_fit_ = 0;
    found_better_ = false;
  }
  return most_promising();
}

void EvolveClimb::tell(Point point, const Answer& answer) {
  Answered answered{answer.ticket, std::move(point), 0, 0, answer.traits};
  const auto index = static_cast<std::uint32_t>(answered_.size());
  rows_.resize(rows_.size() + encoding_.columns());
  encoding_.encode(answered.point, rows_.data() + rows_.size() - encoding_.columns());
  ++answers_since_fit_;
  ++answers_since_better_;
  if (!answer.latency_us) {
    answered.cases = answer.cases;
    answered_.push_back(std::move(answered));
    failed_.push_back(index);
    if (ranking_.empty()) note_failure(index);
    return;
  }
  answered.log_latency = std::log(*answer.latency_us);
  answered_.push_back(std::move(answered));
  enter(ranking_, index);
  enter(rankings_[answered_[index].point.family], index);
  if (ranking_.front() == index) note_progress();
}

void EvolveClimb::retract(const Answer& failure) {
  const auto found = std::ranges::find(answered_, failure.ticket, &Answered::ticket);
  if (found == answered_.end()) return;
  const auto index = static_cast<std::uint32_t>(found - answered_.begin());
  if (std::erase(ranking_, index) == 0) return;
  std::erase(rankings_[found->point.family], index);
  found->cases = failure.cases;
  failed_.push_back(index);
  pool_.clear();
  answers_since_better_ = 0;
  if (ranking_.empty())
    note_failure(index);
  else
    noticed_best_ = ranked(0).log_latency;
}

void EvolveClimb::note_failure(std::uint32_t index) {
  const auto place = std::ranges::upper_bound(nearest_, answered_[index].cases, std::greater(),
                                              [this](std::uint32_t other) { return answered_[other].cases; });
  if (place == nearest_.begin()) found_better_ = true;
  nearest_.insert(place, index);
}

bool EvolveClimb::only_failures_differ() const {
  return ranking_.empty() && !nearest_.empty() && answered_[nearest_.front()].cases > answered_[nearest_.back()].cases;
}

void EvolveClimb::note_progress() {
  found_better_ = true;
  const double best = ranked(0).log_latency;
  if (ranking_.size() > 1 && best > noticed_best_ + std::log1p(-kNoticeable)) return;
  noticed_best_ = best;
  answers_since_better_ = 0;
}

std::vector<Point> EvolveClimb::peaks() const {
  std::vector<Point> peaks;
  for (const Ranking& ranking : rankings_) {
    if (!ranking.empty()) peaks.push_back(answered_[ranking.front()].point);
  }
  return peaks;
}

// Families are drawn from in rotation, so that a small family is drawn as often as a large one.
Point EvolveClimb::sample() {
  return space_.sample_point(rng_, samples_++ % space_.families().size());
}

// Finds the niches of a space whose genomes are few, because one allele asks for certain ones of other genes.
Point EvolveClimb::sample_evenly() {
  return space_.sample_point_evenly(rng_, samples_++ % space_.families().size());
}

void EvolveClimb::enter(Ranking& ranking, std::uint32_t index) const {
  const auto place = std::upper_bound(
      ranking.begin(), ranking.end(), answered_[index].log_latency,
      [this](double log_latency, std::uint32_t other) { return log_latency < answered_[other].log_latency; });
  ranking.insert(place, index);
}

Point EvolveClimb::unasked() {
  for (int draw = 0; draw < kClimbDraws; ++draw) {
    Point point = sample();
    if (!ledger_.asked(point)) return point;
  }
  return ledger_.draw(rng_);
}

// Founders are spread out, so that together they show the effect of every gene.
Proposal EvolveClimb::founder() {
  Point chosen;
  double farthest = -1;
  for (std::size_t draw = 0; draw < tuning_.spread; ++draw) {
    Point point = unasked();
    double nearest = std::numeric_limits<double>::max();
    for (const Point& other : founders_) {
      nearest = std::min(nearest, distance(point, other));
      if (nearest <= farthest) break;
    }
    if (nearest <= farthest) continue;
    farthest = nearest;
    chosen = std::move(point);
  }
  founders_.push_back(chosen);
  return ledger_.propose(std::move(chosen), "random", {});
}

// The sum over the genes; a gene that only one of them has counts as 1.
double EvolveClimb::distance(const Point& a, const Point& b) const {
  const std::vector<Gene>& genes = space_.families()[a.family].genes;
  if (a.family != b.family) return static_cast<double>(genes.size());
  double sum = 0;
  for (std::size_t i = 0; i < genes.size(); ++i) {
    const bool both_active = a.alleles[i] != kInactive && b.alleles[i] != kInactive;
    if (both_active)
      sum += evo::distance(genes[i], a.alleles[i], b.alleles[i]);
    else if (a.alleles[i] != b.alleles[i])
      sum += 1;
  }
  return sum;
}

std::size_t EvolveClimb::fit_interval() const {
  return 1 +
         static_cast<std::size_t>(tuning_.fit_every * static_cast<double>(std::min(answered_.size(), tuning_.memory)));
}

void EvolveClimb::fit_to_failures() {
  const std::size_t kept = std::min(nearest_.size(), tuning_.memory);
  std::vector<float> rows;
  std::vector<float> targets;
  for (const std::uint32_t index : std::span(nearest_).first(kept)) {
    const float* row = rows_.data() + index * encoding_.columns();
    rows.insert(rows.end(), row, row + encoding_.columns());
    targets.push_back(-static_cast<float>(answered_[index].cases));
  }
  forest_.fit(rows, targets, rng_);
}

void EvolveClimb::fit() {
  if (ranking_.empty()) return fit_to_failures();
  const double best = ranked(0).log_latency;
  const auto median = static_cast<std::size_t>(static_cast<double>(ranking_.size() - 1) * tuning_.good_share);
  const double slow = ranked(median).log_latency - best;
  const double failed = tuning_.failure * (slow > 0 ? slow : std::log(2.0));
  std::vector<float> rows;
  std::vector<float> targets;
  const auto learn = [&](std::uint32_t index, double target) {
    const float* row = rows_.data() + index * encoding_.columns();
    rows.insert(rows.end(), row, row + encoding_.columns());
    targets.push_back(static_cast<float>(target));
  };
  const std::size_t best_kept =
      answered_.size() <= tuning_.memory ? ranking_.size() : std::min(ranking_.size(), tuning_.memory / 2);
  for (std::size_t rank = 0; rank < best_kept; ++rank)
    learn(ranking_[rank], std::min(slow, ranked(rank).log_latency - best));
  // Of what is left, failures and others have equal chances.
  const std::size_t others = ranking_.size() - best_kept + failed_.size();
  const std::size_t kept = std::min(others, tuning_.memory - std::min(tuning_.memory, best_kept));
  for (std::size_t i = 0; i < kept; ++i) {
    const std::size_t drawn = kept == others ? i : rng_.below(others);
    if (drawn < failed_.size()) {
      learn(failed_[drawn], failed);
    } else {
      const std::size_t rank = best_kept + drawn - failed_.size();
      learn(ranking_[rank], std::min(slow, ranked(rank).log_latency - best));
    }
  }
  forest_.fit(rows, targets, rng_);
}

// Every family has offspring, because each is due at times. Failures have none: hardly any of their neighbours get
// further, and the forest does not know which. It does know which random genomes keep what it has learnt.
void EvolveClimb::breed() {
  pool_.clear();
  time_forests_.clear();
  for (const Ranking& ranking : rankings_) {
    for (std::size_t rank = 0; rank < std::min(tuning_.bred, ranking.size()); ++rank)
      consider_neighbours(ranking[rank]);
  }
  const auto even = static_cast<std::size_t>(tuning_.even * static_cast<double>(tuning_.immigrants));
  for (std::size_t i = 0; i < tuning_.immigrants; ++i) consider(i < even ? sample_evenly() : sample(), std::nullopt);
}

void EvolveClimb::consider_neighbours(std::uint32_t parent) {
  const Point& point = answered_[parent].point;
  const std::size_t first = pool_.size();
  for (std::size_t gene = 0; gene < point.alleles.size(); ++gene) {
    for (Point& neighbour : space_.neighbours(point, gene, Space::Step::any)) consider(std::move(neighbour), parent);
  }
  if (tuning_.steer > 0) steer(parent, first);
}

Forest EvolveClimb::time_forest(std::size_t share) {
  std::vector<float> rows;
  std::vector<float> targets;
  for (std::size_t i = answered_.size(); i-- > 0 && targets.size() < tuning_.memory;) {
    if (answered_[i].traits.empty()) continue;
    const float* row = rows_.data() + i * encoding_.columns();
    rows.insert(rows.end(), row, row + encoding_.columns());
    targets.push_back(log_time_of(answered_[i].traits, share));
  }
  Forest forest(encoding_, {.trees = tuning_.trees, .tries = tuning_.tries, .pair_share = tuning_.pairs});
  forest.fit(rows, targets, rng_);
  return forest;
}

void EvolveClimb::steer(std::uint32_t parent, std::size_t first) {
  const std::optional<std::size_t> share = bounding_share(answered_[parent].traits);
  if (!share) return;
  if (!time_forests_.contains(*share)) time_forests_.emplace(*share, time_forest(*share));
  const Forest& times = time_forests_.at(*share);
  const float of_parent = times.predict(rows_.data() + parent * encoding_.columns()).mean;
  for (Offspring& offspring : std::span(pool_).subspan(first)) {
    encoding_.encode(offspring.point, row_.data());
    const float saved = of_parent - times.predict(row_.data()).mean;
    offspring.prediction.mean -= static_cast<float>(tuning_.steer) * std::max(saved, 0.0F);
  }
}

void EvolveClimb::consider(Point point, std::optional<std::uint32_t> parent) {
  if (ledger_.asked(point)) return;
  row_.resize(encoding_.columns());
  encoding_.encode(point, row_.data());
  pool_.push_back({std::move(point), parent, forest_.predict(row_.data())});
}

// A family that starts badly may still hold the best genome: one in tuning_.turns asks goes to a family that does not
// lead, in rotation.
std::optional<std::uint32_t> EvolveClimb::trailing_family() {
  const std::size_t families = rankings_.size();
  if (families < 2 || tuning_.turns == 0 || ranking_.empty() || ++asked_since_trailing_ < tuning_.turns)
    return std::nullopt;
  asked_since_trailing_ = 0;
  do {
    last_trailing_ = (last_trailing_ + 1) % families;
  } while (last_trailing_ == ranked(0).point.family);
  return static_cast<std::uint32_t>(last_trailing_);
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
  const std::optional<std::uint32_t> family = trailing_family();
  std::optional<std::size_t> chosen;
  if (!family && !ranking_.empty() && no_progress_for(tuning_.beside))
    chosen = most_promising_of([&](const Offspring& offspring) { return offspring.parent == ranking_.front(); });
  if (!chosen)
    chosen =
        most_promising_of([&](const Offspring& offspring) { return !family || offspring.point.family == *family; });
  if (!chosen) return ledger_.propose(unasked(), "random", {});
  Offspring offspring = std::move(pool_[*chosen]);
  pool_[*chosen] = std::move(pool_.back());
  pool_.pop_back();
  if (!offspring.parent) return ledger_.propose(std::move(offspring.point), "random", {});
  return ledger_.propose(std::move(offspring.point), "neighbour", {answered_[*offspring.parent].ticket});
}

}  // namespace evo
