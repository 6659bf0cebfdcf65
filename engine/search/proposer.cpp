#include "engine/search/proposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/base/error.h"
#include "engine/result/evaluation.h"

namespace evo {
namespace {

constexpr int kTries = 8;  // refused proposals in a row, after which the strategy is asked

/// Tickets count all proposals. The strategy has a count of its own, of those in its space.
class ProposedStrategy : public Strategy {
 public:
  ProposedStrategy(std::unique_ptr<Strategy> strategy, const Space& space, Proposer* proposer, ProposerShare share,
                   ProposedTemplates& templates, RecordedProposals recorded)
      : strategy_(std::move(strategy)),
        space_(space),
        proposer_(proposer),
        bandit_(share),
        templates_(templates),
        recorded_(std::move(recorded)) {}

  std::optional<Proposal> ask() override {
    earned_ += bandit_.share();
    const bool recalled = asked_ < recorded_.tickets;
    constexpr double kRounding = 1e-9;  // a share of 1/10, ten times, is one
    std::optional<Proposal> proposal = recalled ? again() : propose(earned_ >= 1 - kRounding);
    if (proposal) return of_proposer(std::move(proposal));
    if (proposer_ && !recalled && (proposer_->interrupted() || proposer_->alone())) return std::nullopt;
    proposal = strategy_->ask();
    if (!proposal) return recalled || !waits() ? std::nullopt : of_proposer(propose(true));
    for (std::uint64_t& parent : proposal->parents) parent = outer_.at(parent);
    return numbered(std::move(*proposal));
  }
  std::optional<Proposal> offer(const Genome& genome, std::string op, std::vector<std::uint64_t> parents) override {
    std::optional<Proposal> proposal = strategy_->offer(genome, std::move(op), {});
    if (!proposal) return std::nullopt;
    proposal->parents = std::move(parents);
    return numbered(std::move(*proposal));
  }
  void tell(const Answer& answer) override {
    judge(answer);
    if (answer.latency_us) valid_[answer.ticket] = *answer.latency_us;
    const auto inner = inner_.find(answer.ticket);
    if (inner != inner_.end()) strategy_->tell(answer.to(inner->second));
  }
  void retract(const Answer& failure) override {
    if (const auto latency_us = valid_.extract(failure.ticket)) std::erase(best_, latency_us.mapped());
    const auto inner = inner_.find(failure.ticket);
    if (inner != inner_.end()) strategy_->retract(failure.to(inner->second));
    if (proposer_) proposer_->retracted(failure.ticket);
  }
  bool waits() const override { return proposer_ != nullptr && proposer_->goes_on(); }

 private:
  /// Whether an answer is one of the best so far. The first ones are, whoever brought them, so they do not count.
  void judge(const Answer& answer) {
    const bool proposed = proposed_.erase(answer.ticket) > 0;
    const bool full = best_.size() == kEliteCount;
    const bool brought = answer.latency_us && (!full || *answer.latency_us < best_.back());
    if (full) bandit_.tell(proposed ? ShareBandit::Source::proposer : ShareBandit::Source::strategy, brought);
    if (!brought) return;
    best_.insert(std::ranges::upper_bound(best_, *answer.latency_us), *answer.latency_us);
    if (best_.size() > kEliteCount) best_.pop_back();
  }

  /// A proposal of the strategy with its number among all proposals.
  Proposal numbered(Proposal proposal) {
    outer_[proposal.ticket] = asked_;
    inner_[asked_] = proposal.ticket;
    proposal.ticket = asked_++;
    return proposal;
  }

  std::optional<Proposal> again() {
    const auto recorded = recorded_.genomes.find(asked_);
    if (recorded == recorded_.genomes.end()) return std::nullopt;
    return take(recorded->second, {});
  }

  std::optional<Proposal> of_proposer(std::optional<Proposal> proposal) {
    if (!proposal) return std::nullopt;
    earned_ -= 1;
    proposed_.insert(proposal->ticket);
    return proposal;
  }

  std::optional<Proposal> propose(bool due) {
    if (!proposer_) return std::nullopt;
    for (int tried = 0; due && (tried < kTries || proposer_->alone()); ++tried) {
      const std::optional<Proposed> proposed = proposer_->next();
      if (!proposed) return std::nullopt;
      std::optional<std::string> why = why_refused(*proposed);
      if (!why) {
        if (auto proposal = take(proposed->genome, proposed->parents)) {
          proposal->note = proposed->note;
          proposal->exchange = proposed->exchange;
          return proposal;
        }
        why = "it, or the program that it makes, was evaluated before";
      }
      proposer_->refused(*proposed, *why);
    }
    return std::nullopt;
  }

  std::optional<std::string> why_refused(const Proposed& proposed) {
    for (const std::uint64_t parent : proposed.parents) {
      const bool recalled = proposer_->alone() && parent < recorded_.tickets;  // It may be told later.
      if (!recalled && !valid_.contains(parent))
        return fmt::format("parent {} is no valid candidate of this run", parent);
    }
    if (proposed.files.empty() && templates_.files_of(proposed.genome).empty())
      return space_.why_illegal(proposed.genome);
    try {
      templates_.admit(proposed.genome, proposed.files);
      return std::nullopt;
    } catch (const Error& error) {
      return error.what();
    }
  }

  /// Empty when it was asked before.
  std::optional<Proposal> take(const Genome& genome, std::vector<std::uint64_t> parents) {
    const SourceTree files = templates_.files_of(genome);
    if (files.empty()) return offer(genome, kProposerOperator, std::move(parents));
    if (!foreign_.insert(to_text(genome)).second) return std::nullopt;
    const bool edited = std::ranges::any_of(files, [](const auto& file) { return is_edit_list(file.first); });
    return Proposal{asked_++, genome, edited ? kEditOperator : kProposerOperator, std::move(parents)};
  }

  std::unique_ptr<Strategy> strategy_;
  const Space& space_;
  Proposer* proposer_;
  ShareBandit bandit_;
  ProposedTemplates& templates_;
  RecordedProposals recorded_;
  std::uint64_t asked_ = 0;
  double earned_ = 0;                                       // evaluations that are the proposer's now
  std::vector<double> best_;                                // latencies, the least first
  std::unordered_set<std::uint64_t> proposed_;              // of those in flight, the proposer's
  std::unordered_map<std::uint64_t, double> valid_;         // latencies
  std::unordered_map<std::uint64_t, std::uint64_t> outer_;  // by the strategy's ticket
  std::unordered_map<std::uint64_t, std::uint64_t> inner_;  // by ours
  std::unordered_set<std::string> foreign_;                 // genomes that are not of its space
};

}  // namespace

std::unique_ptr<Strategy> make_proposed(std::unique_ptr<Strategy> strategy, const Space& space, Proposer* proposer,
                                        ProposerShare share, ProposedTemplates& templates, RecordedProposals recorded) {
  return std::make_unique<ProposedStrategy>(std::move(strategy), space, proposer, share, templates,
                                            std::move(recorded));
}

}  // namespace evo
