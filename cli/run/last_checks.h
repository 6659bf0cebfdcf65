#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "cli/run/elite_checks.h"
#include "cli/run/progress.h"
#include "engine/search/search.h"

namespace evo::cli {

/// The time that a run may take, shared by its search and the checks of elites that are open at its end. The search
/// ends earlier by what these are expected to take, at most a quarter of the run's time.
class RunTime {
 public:
  using Clock = std::chrono::steady_clock;

  /// `limit`: of the whole run; empty: none. `for_checks`: what the last checks may take beyond it; 0: none are made.
  /// Empty: what is left, and not more than the search took; that is at least 10 s.
  RunTime(std::optional<Clock::duration> limit, std::optional<Clock::duration> for_checks,
          std::function<Clock::time_point()> now = Clock::now);

  /// The run begins now, and not when this was made.
  void begin() { begun_ = now_(); }
  bool checks_nothing() const { return for_checks_ == Clock::duration::zero(); }
  bool is_over() const { return limit_ && left() <= Clock::duration::zero(); }
  /// `open`: how many elites are provisional; asked only when it matters. `of_one`: what the checks of one take; empty:
  /// it is not known.
  bool is_over_for_search(const std::function<std::size_t()>& open, std::optional<Clock::duration> of_one) const;

  struct Share {
    Clock::duration most;
    const char* why;  ///< "14 s are over, ...".
  };
  /// What the last checks may take that begin now.
  Share for_last_checks() const;

 private:
  Clock::duration left() const { return *limit_ - (now_() - begun_); }

  std::optional<Clock::duration> limit_, for_checks_;
  std::function<Clock::time_point()> now_;
  Clock::time_point begun_;
};

/// The end of a search waits for the checks of elites that are still open. It says which is made and how far it is,
/// and bounds the time.
struct LastChecks {
  EliteCheckRunner& checks;
  ProgressReport& progress;
  std::function<std::size_t()> open;  ///< How many elites are provisional.
  const RunTime& time;                ///< What is left out stays provisional.

  /// The same archive, whose last wait is bounded. All must outlive the result.
  std::unique_ptr<Archive> bounding(Archive& archive) const;
};

}  // namespace evo::cli
