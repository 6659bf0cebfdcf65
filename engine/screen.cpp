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
    Proposal numbered = asked({std::move(*proposal), {}});
    numbered.parents = std::move(parents);
    return numbered;
  }

  void tell(const Answer& answer) override {
    const auto found = in_flight_.extract(answer.ticket);
    const auto& [ticket, foretold] = found.mapped();
    if (answer.latency_us) {
      best_us_ = std::min(best_us_, *answer.latency_us);
      if (foretold.latency && std::isfinite(*foretold.latency)) {
        const double ratio = *answer.latency_us / *foretold.latency;
        ratios_.insert(std::upper_bound(ratios_.begin(), ratios_.end(), ratio), ratio);
      }
    }
    strategy_->tell({ticket, answer.latency_us});
    if (!foretold.program.empty()) tell_twins(programs_.at(foretold.program), answer);
    settle_screened();
  }

 private:
  struct Entry {
    Proposal proposal;
    Foretold foretold;
  };
  struct InFlight {
    std::uint64_t ticket = 0;  // the strategy's
    Foretold foretold;
  };
  /// A program that was asked, or is next.
  struct Program {
    std::optional<Answer> answer;      // by our ticket
    std::vector<std::uint64_t> twins;  // the strategy's tickets that wait for the answer
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
      batch.push_back({std::move(*proposal), {}});
    }
    std::vector<Foretold> foretold = foresight_.foretell(genomes);
    if (foretold.size() < genomes.size()) return;
    for (std::size_t i = 0; i < foretold.size(); ++i) batch[known + i].foretold = std::move(foretold[i]);
    const double middle = median_of(batch);
    std::ranges::stable_sort(batch, {},
                             [&](const Entry& entry) { return entry.foretold.latency.value_or(middle); });
    std::vector<Entry> twins;
    for (Entry& entry : batch) {
      if (programs_.contains(entry.foretold.program)) {
        twins.push_back(std::move(entry));
      } else if (chosen_.size() < together_) {
        if (!entry.foretold.program.empty()) programs_[entry.foretold.program];
        chosen_.push_back(std::move(entry));
      } else {
        screened_.push_back(std::move(entry));
      }
    }
    settle_twins(std::move(twins));
    settle_screened();
  }

  /// One is asked where there is nothing else: so a run in which all genomes make the same few programs ends.
  void settle_twins(std::vector<Entry> twins) {
    for (Entry& twin : twins) {
      if (chosen_.empty()) {
        chosen_.push_back(std::move(twin));
        continue;
      }
      Program& program = programs_.at(twin.foretold.program);
      program.twins.push_back(twin.proposal.ticket);
      if (program.answer) tell_twins(program, *program.answer);
    }
  }

  void tell_twins(Program& program, const Answer& answer) {
    program.answer = answer;
    for (const std::uint64_t twin : std::exchange(program.twins, {})) {
      ancestors_[twin] = {answer.ticket};
      strategy_->tell({twin, answer.latency_us});
    }
  }

  static double median_of(const std::vector<Entry>& batch) {
    std::vector<double> foretold;
    for (const Entry& entry : batch) {
      if (entry.foretold.latency) foretold.push_back(*entry.foretold.latency);
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
      if (!entry.foretold.latency) continue;
      const double expected_us = ratio * *entry.foretold.latency;
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
    in_flight_[ticket] = {proposal.ticket, std::move(entry.foretold)};
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
  std::unordered_map<std::string, Program> programs_;
  std::uint64_t next_ticket_ = 0;
  std::vector<double> ratios_;  // measured/foretold, ascending
  double best_us_ = kNever;
};

}  // namespace

std::unique_ptr<Strategy> make_screened(std::unique_ptr<Strategy> strategy, Foresight& foresight, Screen screen) {
  return std::make_unique<ScreenedStrategy>(std::move(strategy), foresight, screen);
}

}  // namespace evo
