#pragma once

namespace evo {

/// The fraction by which the best latency must fall to count as progress. Two timings of one kernel differ by less.
inline constexpr double kNoticeable = 0.005;

}  // namespace evo
