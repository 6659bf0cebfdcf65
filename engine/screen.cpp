#include "engine/screen.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <utility>

namespace evo {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Tickets count what is asked. The strategy has a count of its own, of all that it proposed.
class ScreenedStrategy : public Strategy {
 public:
  ScreenedStrategy(std::unique_ptr<Strategy> strategy, Foresight& foresight, Screen screen)
      : strategy_(std::move(strategy)),
        foresight_(foresight),
        together_(std::max<std::size_t>(1, screen.together)),
        among_(together_ * std::max<std::size_t>(1, screen.among)) {}

  std::optional<Proposal> ask() override {
    if (chosen_.empty()) choose();
    if (chosen_.empty()) return std::nullopt;
    Entry entry = std::move(chosen_.front());
    chosen_.pop_front();
    return asked(std::move(entry));
  }

  std::optional<Proposal> offer(const Genome& genome, std::string op,
                                std::vector<std::uint64_t> parents) override {
    std::optional<Proposal> proposal = strategy_->offer(genome, std::move(op), {});
    if (!proposal) return std::nullopt;
    Proposal numbered = asked({std::move(*proposal), std::nullopt});
    numbered.parents = std::move(parents);
    return numbered;
  }

  void tell(const Answer& answer) override {
    const auto found = in_flight_.extract(answer.ticket);
    const auto [ticket, foretold] = found.mapped();
    if (answer.latency_us) {
      best_us_ = std::min(best_us_, *answer.latency_us);
      if (foretold && std::isfinite(*foretold)) {
        const double ratio = *answer.latency_us / *foretold;
        ratios_.insert(std::upper_bound(ratios_.begin(), ratios_.end(), ratio), ratio);
      }
    }
    strategy_->tell({ticket, answer.latency_us});
    settle_screened();
  }

 private:
  struct Entry {
    Proposal proposal;
    std::optional<double> foretold;
  };
  struct InFlight {
    std::uint64_t ticket = 0;  // the strategy's
    std::optional<double> foretold;
  };

  /// Of those that still stand and new ones.
  void choose() {
    std::vector<Entry> batch = std::exchange(standing_, {});
    const std::size_t known = batch.size();
    std::vector<Genome> genomes;
    while (batch.size() < among_) {
      std::optional<Proposal> proposal = strategy_->ask();
      if (!proposal) break;
      genomes.push_back(proposal->genome);
      batch.push_back({std::move(*proposal), std::nullopt});
    }
    const std::vector<std::optional<double>> foretold = foresight_.latencies(genomes);
    if (foretold.size() < genomes.size()) return;
    for (std::size_t i = 0; i < foretold.size(); ++i) batch[known + i].foretold = foretold[i];
    const double middle = median_of(batch);
    std::ranges::stable_sort(batch, {}, [&](const Entry& entry) { return entry.foretold.value_or(middle); });
    const auto last = batch.begin() + static_cast<std::ptrdiff_t>(std::min(together_, batch.size()));
    std::move(batch.begin(), last, std::back_inserter(chosen_));
    std::move(last, batch.end(), std::back_inserter(screened_));
    settle_screened();
  }

  static double median_of(const std::vector<Entry>& batch) {
    std::vector<double> foretold;
    for (const Entry& entry : batch) {
      if (entry.foretold) foretold.push_back(*entry.foretold);
    }
    if (foretold.empty()) return 0;
    const auto middle = foretold.begin() + static_cast<std::ptrdiff_t>(foretold.size() / 2);
    std::ranges::nth_element(foretold, middle);
    return *middle;
  }

  /// What foretold latencies mean is not known before the first measurement.
  void settle_screened() {
    if (ratios_.empty()) return;
    const double ratio = ratios_[ratios_.size() / 2];
    for (Entry& entry : screened_) {
      if (!entry.foretold) continue;
      const double expected_us = ratio * *entry.foretold;
      if (expected_us < best_us_) {
        standing_.push_back(std::move(entry));
        continue;
      }
      ancestors_[entry.proposal.ticket] = measured_ancestors(entry.proposal);
      const bool fails = std::isinf(expected_us);
      strategy_->tell({entry.proposal.ticket, fails ? std::nullopt : std::optional(expected_us)});
    }
    screened_.clear();
  }

  Proposal asked(Entry entry) {
    Proposal proposal = std::move(entry.proposal);
    const std::uint64_t ticket = next_ticket_++;
    in_flight_[ticket] = {proposal.ticket, entry.foretold};
    proposal.parents = measured_ancestors(proposal);
    ancestors_[proposal.ticket] = {ticket};
    proposal.ticket = ticket;
    return proposal;
  }

  /// Its parents; instead of one that was not measured, that one's.
  std::vector<std::uint64_t> measured_ancestors(const Proposal& proposal) const {
    std::vector<std::uint64_t> all;
    for (const std::uint64_t parent : proposal.parents) {
      const auto known = ancestors_.find(parent);
      if (known == ancestors_.end()) continue;
      for (const std::uint64_t ancestor : known->second) {
        if (std::find(all.begin(), all.end(), ancestor) == all.end()) all.push_back(ancestor);
      }
    }
    return all;
  }

  std::unique_ptr<Strategy> strategy_;
  Foresight& foresight_;
  std::size_t together_;
  std::size_t among_;
  std::deque<Entry> chosen_;                               // to be asked next
  std::vector<Entry> standing_;                            // would be the best so far: they stand again
  std::vector<Entry> screened_;                            // the strategy is still to be told
  std::unordered_map<std::uint64_t, InFlight> in_flight_;  // by our ticket
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> ancestors_;  // our tickets, by the strategy's
  std::uint64_t next_ticket_ = 0;
  std::vector<double> ratios_;  // measured/foretold, ascending
  double best_us_ = kNever;
};

}  // namespace

std::unique_ptr<Strategy> make_screened(std::unique_ptr<Strategy> strategy, Foresight& foresight, Screen screen) {
  return std::make_unique<ScreenedStrategy>(std::move(strategy), foresight, screen);
}

}  // namespace evo
