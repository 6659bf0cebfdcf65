#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "evaluator/judge/cases.h"

namespace evo {

/// Cases whose error came close to a limit. How far one draw of a case lies below its limit is partly luck. Where the
/// worst draws came close, and wherever an ill-conditioned draw was set aside, other seeds are checked too.
class CloseCases {
 public:
  /// A case of the plan, by its number. `closeness`: the error over its limit. `further_draws`: so many further seeds,
  /// whatever else; 0: as many as any other case.
  void add(std::size_t number, double closeness, int further_draws);

  /// Which cases are to be drawn anew, the closest first, and how often. Each shape and regime comes once.
  struct Draws {
    std::size_t number = 0;
    int seeds = 0;
  };
  /// `output_bytes`: of one case.
  std::vector<Draws> further_draws(const CasePlan& plan,
                                   const std::function<std::uint64_t(const Case&)>& output_bytes) const;

 private:
  struct Close {
    std::size_t number = 0;
    double closeness = 0;
    int further_draws = 0;
  };
  std::vector<Close> close_;
};

}  // namespace evo
