#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/strategy/strategies.h"

namespace evo {
namespace {

/// Each goal weighs the error otherwise: what it minimises is latency * error^weight. The first ends at the fast end of
/// the front, the last at the accurate one.
constexpr std::array<double, 3> kWeights = {0, 1, 4};
/// An answer without an error has this one: exact ones differ in their latencies alone.
constexpr double kLeastError = 1e-9;

/// One strategy for each goal. They ask in turns and all are told all answers, so that their tickets are the same.
class FrontStrategy : public Strategy {
 public:
  FrontStrategy(const std::string& name, const Space& space, std::uint64_t seed) {
    for (std::size_t goal = 0; goal < kWeights.size(); ++goal)
      goals_.push_back(make_strategy(name, space, seed + goal));
  }

  std::optional<Proposal> ask() override {
    const std::size_t turn = turn_++ % goals_.size();
    std::optional<Proposal> proposal = goals_[turn]->ask();
    if (proposal) share(*proposal, turn);
    return proposal;
  }

  std::optional<Proposal> offer(const Genome& genome, std::string op, std::vector<std::uint64_t> parents) override {
    std::optional<Proposal> proposal = goals_.front()->offer(genome, std::move(op), std::move(parents));
    if (proposal) share(*proposal, 0);
    return proposal;
  }

  void tell(const Answer& answer) override {
    for (std::size_t goal = 0; goal < goals_.size(); ++goal) {
      Answer weighed = answer;
      if (answer.latency_us)
        weighed.latency_us = *answer.latency_us * std::pow(std::max(answer.error, kLeastError), kWeights[goal]);
      goals_[goal]->tell(weighed);
    }
  }

  void retract(const Answer& failure) override {
    for (const auto& goal : goals_) goal->retract(failure);
  }

 private:
  void share(const Proposal& proposal, std::size_t asked) {
    for (std::size_t goal = 0; goal < goals_.size(); ++goal)
      if (goal != asked) goals_[goal]->offer(proposal.genome, proposal.op, proposal.parents);
  }

  std::vector<std::unique_ptr<Strategy>> goals_;
  std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_front(const std::string& name, const Space& space, std::uint64_t seed) {
  return std::make_unique<FrontStrategy>(name, space, seed);
}

}  // namespace evo
