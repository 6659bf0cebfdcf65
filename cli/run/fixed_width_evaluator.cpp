#include "cli/run/fixed_width_evaluator.h"

namespace evo::cli {

void FixedWidthEvaluator::submit(std::uint64_t ticket, const Candidate& candidate) {
  if (in_flight_ >= inner_->width()) {
    waiting_.emplace_back(ticket, candidate);
    return;
  }
  inner_->submit(ticket, candidate);
  ++in_flight_;
}

Evaluator::Done FixedWidthEvaluator::wait() {
  Done done = inner_->wait();
  --in_flight_;
  if (!waiting_.empty()) {
    const auto [ticket, candidate] = std::move(waiting_.front());
    waiting_.pop_front();
    inner_->submit(ticket, candidate);
    ++in_flight_;
  }
  return done;
}

std::vector<std::uint64_t> FixedWidthEvaluator::withdraw() {
  std::vector<std::uint64_t> tickets = inner_->withdraw();
  in_flight_ -= tickets.size();
  for (const auto& [ticket, candidate] : waiting_) tickets.push_back(ticket);
  waiting_.clear();
  return tickets;
}

}  // namespace evo::cli
