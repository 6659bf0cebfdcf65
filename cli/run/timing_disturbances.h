#pragma once

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "engine/task/evaluation.h"

namespace evo::cli {

/// Notices what disturbs the measurements of a run and says each kind once: another process on the GPU,
/// clocks that heat or a power brake lowered, a power limit that lowers them under a kernel, clocks that otherwise
/// differ between measurements or within one. Everything else that is to be known of it is kept with each timing.
class TimingDisturbances {
 public:
  /// Lines for a person about what is new in an evaluation. `name`: of the candidate, for people.
  std::vector<std::string> notice(const std::string& name, const Evaluation& evaluation);

 private:
  enum class Kind { company, throttling, power, clocks };
  bool first(Kind kind) { return said_.insert(kind).second; }
  void note_clocks(const Conditions& now);

  std::set<Kind> said_;
  int highest_sm_mhz_ = 0;
  /// The driver tells of a power limit later than it lowers the clock: not every timing under one knows of it.
  int lowest_limited_sm_mhz_ = std::numeric_limits<int>::max();
};

}  // namespace evo::cli
