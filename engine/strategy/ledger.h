#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/base/rng.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// The points that a strategy has proposed, which keep it from proposing one twice, and those in flight.
class Ledger {
 public:
  explicit Ledger(const Space& space) : space_(space) {}

  bool exhausted() const { return asked_.size() == space_.size(); }
  bool asked(const Point& point) const { return asked_.contains(point); }
  std::uint64_t next_ticket() const { return next_ticket_; }

  /// Makes a proposal of the point, which is then in flight.
  Proposal propose(Point point, std::string op, std::vector<std::uint64_t> parents);

  /// Takes the point of an answer out of flight. Throws logic_error for a ticket that is not in flight.
  Point settle(const Answer& answer);
  const std::unordered_map<std::uint64_t, Point>& in_flight() const { return in_flight_; }

  /// A uniform draw among the points not yet proposed. Where few are left: the next one in index order after a random
  /// index. There must be one.
  Point draw(Rng& rng) const;

 private:
  const Space& space_;
  std::uint64_t next_ticket_ = 0;
  std::unordered_set<Point, PointHash> asked_;
  std::unordered_map<std::uint64_t, Point> in_flight_;
};

}  // namespace evo
