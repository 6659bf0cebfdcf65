#pragma once

#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/result/evaluation.h"

namespace evo::cli {

/// Reports what disturbs the timings of a run, each kind once for each GPU: another process on the GPU, clocks that
/// heat or a power brake has lowered, a power limit that lowers the clocks under a kernel, and clocks that differ for
/// another reason. The database keeps the details with each timing.
class TimingDisturbances {
 public:
  /// A line for each kind of disturbance that this evaluation shows for the first time. `name`: the candidate's.
  std::vector<std::string> notice(const std::string& name, const Evaluation& evaluation);

 private:
  enum class Kind { other_process, throttling, power_limit, clocks };
  struct Gpu {
    std::set<Kind> reported;
    int highest_sm_mhz = 0;
    /// The driver reports a power limit later than it lowers the clock, so a timing under a limit may not say so.
    int lowest_limited_sm_mhz = std::numeric_limits<int>::max();

    bool first(Kind kind) { return reported.insert(kind).second; }
    void note_clocks(const Conditions& now);
  };

  std::map<std::string, Gpu> gpus_;  ///< By host and device.
};

}  // namespace evo::cli
