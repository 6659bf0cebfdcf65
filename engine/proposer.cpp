#include "engine/proposer.h"

#include <fmt/format.h>

#include <unordered_set>
#include <utility>

namespace evo {
namespace {

constexpr int kTries = 8;  // refused proposals in a row, then it is the strategy's turn

class ProposedStrategy : public Strategy {
 public:
  ProposedStrategy(std::unique_ptr<Strategy> strategy, const Space& space, Proposer* proposer, double share,
                   RecordedProposals recorded)
      : strategy_(std::move(strategy)),
        space_(space),
        proposer_(proposer),
        share_(share),
        recorded_(std::move(recorded)) {}

  std::optional<Proposal> ask() override {
    std::optional<Proposal> proposal = asked_ < recorded_.tickets ? again() : propose();
    if (proposal) ++taken_;
    if (!proposal) proposal = strategy_->ask();
    ++asked_;
    return proposal;
  }
  std::optional<Proposal> offer(const Genome& genome, std::string op,
                                std::vector<std::uint64_t> parents) override {
    return strategy_->offer(genome, std::move(op), std::move(parents));
  }
  void tell(const Answer& answer) override {
    if (answer.latency_us) valid_.insert(answer.ticket);
    strategy_->tell(answer);
  }

 private:
  std::optional<Proposal> again() {
    const auto recorded = recorded_.genomes.find(asked_);
    if (recorded == recorded_.genomes.end()) return std::nullopt;
    return strategy_->offer(recorded->second, kOperator, {});
  }

  std::optional<Proposal> propose() {
    if (!proposer_) return std::nullopt;
    const bool its_turn = static_cast<double>(taken_ + 1) <= share_ * static_cast<double>(asked_ + 1);
    for (int tried = 0; its_turn && tried < kTries; ++tried) {
      const std::optional<Proposed> proposed = proposer_->next();
      if (!proposed) return std::nullopt;
      std::optional<std::string> why = space_.why_illegal(proposed->genome);
      for (const std::uint64_t parent : proposed->parents) {
        if (!valid_.contains(parent))
          why = fmt::format("parent {} is no valid candidate of this run", parent);
      }
      if (!why) {
        if (auto proposal = strategy_->offer(proposed->genome, kOperator, proposed->parents)) return proposal;
        why = "it was evaluated before";
      }
      proposer_->refused(*proposed, *why);
    }
    return std::nullopt;
  }

  static constexpr const char* kOperator = "proposer";

  std::unique_ptr<Strategy> strategy_;
  const Space& space_;
  Proposer* proposer_;
  double share_;
  RecordedProposals recorded_;
  std::uint64_t asked_ = 0;
  std::uint64_t taken_ = 0;
  std::unordered_set<std::uint64_t> valid_;
};

}  // namespace

std::unique_ptr<Strategy> make_proposed(std::unique_ptr<Strategy> strategy, const Space& space,
                                        Proposer* proposer, double share, RecordedProposals recorded) {
  return std::make_unique<ProposedStrategy>(std::move(strategy), space, proposer, share, std::move(recorded));
}

}  // namespace evo
