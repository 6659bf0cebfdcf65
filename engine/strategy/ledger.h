#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/base/rng.h"
#include "engine/strategy/strategy.h"

namespace evo {

/// What every strategy keeps: which points were asked, so that nothing is asked twice, and which are in
/// flight.
class Ledger {
 public:
  explicit Ledger(const Space& space) : space_(space) {}

  bool exhausted() const { return asked_.size() == space_.size(); }
  bool asked(const Point& point) const { return asked_.contains(point); }
  std::uint64_t next_ticket() const { return next_ticket_; }

  /// Notes the point as asked and in flight.
  Proposal propose(Point point, std::string op, std::vector<std::uint64_t> parents);

  /// The point of an answer, which is no longer in flight. Throws logic_error for a ticket that is not.
  Point settle(const Answer& answer);
  const std::unordered_map<std::uint64_t, Point>& in_flight() const { return in_flight_; }

  /// A uniform draw among the points not asked; where nearly all have been asked, the next in index order
  /// from a random place on. There must be one.
  Point draw(Rng& rng) const;

 private:
  const Space& space_;
  std::uint64_t next_ticket_ = 0;
  std::unordered_set<Point, PointHash> asked_;
  std::unordered_map<std::uint64_t, Point> in_flight_;
};

}  // namespace evo
