#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "engine/strategies.h"
#include "engine/variation.h"

namespace evo {
namespace {

// Figures found with the synthetic landscapes of tests/engine: budgets of 40 to 2000 evaluations, a third
// failing.
constexpr std::size_t kFounders = 8;      // random genomes that open an epoch
constexpr std::size_t kPatience = 120;    // answers without a better best of the epoch, then a restart
constexpr int kDraws = 12;                // of one operator, for a genome not asked before
constexpr double kLearningRate = 0.1;     // of an operator's credit
constexpr double kLeastShare = 0.02;      // of the proposals, that every operator keeps
constexpr double kImmigrantCredit = 0.1;  // at the start; other operators have 1
constexpr double kParentShares[] = {0.5, 0.3, 0.2};  // best first

/// A genome with its measured latency.
struct Individual {
  std::uint64_t ticket = 0;
  Genome genome;
  double latency_us = 0;
};

/// The best few, best first; the older one of equals.
class Elite {
 public:
  const std::vector<Individual>& members() const { return members_; }
  bool empty() const { return members_.empty(); }
  void clear() { members_.clear(); }

  /// The rank it entered at; kEliteCount when it did not.
  std::size_t offer(Individual individual) {
    const auto place = std::upper_bound(
        members_.begin(), members_.end(), individual,
        [](const Individual& a, const Individual& b) { return a.latency_us < b.latency_us; });
    const auto rank = static_cast<std::size_t>(place - members_.begin());
    if (rank == kEliteCount) return rank;
    members_.insert(place, std::move(individual));
    if (members_.size() > kEliteCount) members_.pop_back();
    return rank;
  }

 private:
  std::vector<Individual> members_;
};

/// Steady-state evolution around the elite of three. An epoch opens with random genomes and breeds from its
/// own elite until it stagnates; then the next opens, half of its founders being shaken copies of the best of
/// all epochs. Operators are drawn in proportion to what they earned lately (probability matching).
class EvolveStrategy : public Strategy {
 public:
  EvolveStrategy(const Space& space, std::uint64_t seed) : space_(space), rng_(seed) {
    const auto mutation = [this](Genome (*mutate)(const Space&, const Genome&, Rng&)) {
      return [this, mutate] {
        const Individual& parent = draw_parent();
        return Child{mutate(space_, parent.genome, rng_), {parent.ticket}};
      };
    };
    operators_ = {
        {"mutate_one", mutation(mutate_one)},         {"mutate_several", mutation(mutate_several)},
        {"step_neighbour", mutation(step_neighbour)}, {"swap_slot", mutation(swap_slot)},
        {"crossover", [this] { return cross(); }},    {"random", [this] { return Child{sample(), {}}; }},
    };
  }

  std::optional<Proposal> ask() override {
    if (asked_.size() == space_.size()) return std::nullopt;
    if (founders_ < kFounders || epoch_.empty()) return found();
    for (std::size_t attempt = 0; attempt < operators_.size(); ++attempt) {
      const Operator& op = draw_operator();
      if (auto child = unasked(op.make)) return propose(std::move(*child), op.name);
    }
    return propose(Child{any_unasked(), {}}, "random");
  }

  void tell(const Answer& answer) override {
    const auto found = pending_.find(answer.ticket);
    if (found == pending_.end()) throw std::logic_error("told of a ticket that is not in flight");
    Pending pending = std::move(found->second);
    pending_.erase(found);
    std::size_t rank = kEliteCount;
    bool best = false;
    if (answer.latency_us) {
      const Individual individual{answer.ticket, std::move(pending.genome), *answer.latency_us};
      all_time_.offer(individual);
      // What an epoch asked for before the restart still counts, but not as its successor's parent.
      if (pending.epoch == epoch_number_) rank = epoch_.offer(individual);
      best = rank == 0;
    }
    credit(pending.op, rank);
    stagnant_ = best ? 0 : stagnant_ + 1;
    if (stagnant_ >= kPatience && !epoch_.empty()) restart();
  }

 private:
  struct Child {
    Genome genome;
    std::vector<std::uint64_t> parents;
  };
  struct Operator {
    std::string name;
    std::function<Child()> make;
    double credit = 1.0;  // a moving average of rewards; starts high, so that each is tried
  };
  struct Pending {
    Genome genome;
    std::string op;
    std::size_t epoch = 0;
  };

  // --- epochs

  Proposal found() {
    const bool shaken = epoch_number_ % 2 == 1 && founders_ % 2 == 0 && !all_time_.empty();
    ++founders_;
    const auto make = [&] { return shaken ? shake() : Child{sample(), {}}; };
    if (auto child = unasked(make)) return propose(std::move(*child), shaken ? "shake" : "random");
    return propose(Child{any_unasked(), {}}, "random");
  }

  // A copy of an elite of all epochs with about a third of its genes drawn anew.
  Child shake() {
    const auto& elite = all_time_.members();
    const Individual& parent = elite[rng_.below(elite.size())];
    Genome wish = parent.genome;
    std::erase_if(wish.genes, [&](const auto&) { return rng_.below(3) == 0; });
    return {space_.complete(wish, rng_), {parent.ticket}};
  }

  void restart() {
    ++epoch_number_;
    epoch_.clear();
    founders_ = 0;
    stagnant_ = 0;
  }

  // --- operators

  const Individual& draw_parent() {
    const auto& parents = epoch_.members();
    double total = 0;
    for (std::size_t i = 0; i < parents.size(); ++i) total += kParentShares[i];
    double drawn = rng_.unit() * total;
    std::size_t i = 0;
    while (i + 1 < parents.size() && drawn >= kParentShares[i]) drawn -= kParentShares[i++];
    return parents[i];
  }

  Child cross() {
    const Individual& a = draw_parent();
    const Individual& b = draw_parent();
    return {crossover(space_, a.genome, b.genome, rng_), {a.ticket, b.ticket}};
  }

  // Families take turns, so that a small one is not lost beside a large one.
  Genome sample() {
    const auto& families = space_.families();
    return space_.sample(rng_, families[samples_++ % families.size()].name);
  }

  const Operator& draw_operator() {
    double total = 0;
    for (const Operator& op : operators_) total += op.credit;
    const double least = total * kLeastShare;
    double drawn = rng_.unit() * (total + least * static_cast<double>(operators_.size()));
    for (const Operator& op : operators_) {
      drawn -= op.credit + least;
      if (drawn < 0) return op;
    }
    return operators_.back();
  }

  void credit(const std::string& name, std::size_t rank) {
    const double reward = rank == 0 ? 1.0 : rank < kEliteCount ? 0.5 : 0.0;
    for (Operator& op : operators_) {
      if (op.name == name) op.credit += kLearningRate * (reward - op.credit);
    }
  }

  // --- nothing twice

  std::optional<Child> unasked(const std::function<Child()>& make) {
    for (int draw = 0; draw < kDraws; ++draw) {
      Child child = make();
      if (!asked_.contains(to_text(child.genome))) return child;
    }
    return std::nullopt;
  }

  // The next genome in index order from a random place on. Only asked for where most of the space is known,
  // so short.
  Genome any_unasked() {
    if (space_.size() == Space::kSaturated) {
      Genome genome = space_.sample(rng_);
      while (asked_.contains(to_text(genome))) genome = space_.sample(rng_);
      return genome;
    }
    std::uint64_t index = rng_.below(space_.size());
    while (asked_.contains(to_text(space_.at(index)))) index = (index + 1) % space_.size();
    return space_.at(index);
  }

  Proposal propose(Child child, const std::string& op) {
    Proposal proposal{next_ticket_++, std::move(child.genome), op, std::move(child.parents)};
    asked_.insert(to_text(proposal.genome));
    pending_[proposal.ticket] = {proposal.genome, op, epoch_number_};
    return proposal;
  }

  const Space& space_;
  Rng rng_;
  std::vector<Operator> operators_;
  Elite all_time_;
  Elite epoch_;
  std::size_t epoch_number_ = 0;
  std::size_t founders_ = 0;  // asked in this epoch
  std::size_t stagnant_ = 0;  // answers since the epoch's best last improved
  std::size_t samples_ = 0;
  std::uint64_t next_ticket_ = 0;
  std::unordered_set<std::string> asked_;
  std::unordered_map<std::uint64_t, Pending> pending_;
};

}  // namespace

std::unique_ptr<Strategy> make_evolve(const Space& space, std::uint64_t seed) {
  return std::make_unique<EvolveStrategy>(space, seed);
}

}  // namespace evo
