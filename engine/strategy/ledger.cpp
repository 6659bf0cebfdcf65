#include "engine/strategy/ledger.h"

namespace evo {

Proposal Ledger::propose(Point point, std::string op, std::vector<std::uint64_t> parents) {
  Proposal proposal{next_ticket_++, space_.genome(point), std::move(op), std::move(parents)};
  asked_.insert(point);
  in_flight_.emplace(proposal.ticket, std::move(point));
  return proposal;
}

Point Ledger::settle(const Answer& answer) {
  auto found = in_flight_.extract(answer.ticket);
  if (found.empty()) throw unknown_ticket(answer.ticket);
  return std::move(found.mapped());
}

Point Ledger::draw(Rng& rng) const {
  constexpr int kDraws = 64;
  const bool countable = space_.size() != Space::kSaturated;
  for (int draw = 0; draw < kDraws || !countable; ++draw) {
    Point point = space_.sample_point(rng);
    if (!asked(point)) return point;
  }
  std::uint64_t index = rng.below(space_.size());
  while (asked(space_.point_at(index))) index = (index + 1) % space_.size();
  return space_.point_at(index);
}

}  // namespace evo
