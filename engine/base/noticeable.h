#pragma once

namespace evo {

/// By what part the best latency must fall to count as progress: less than that is what two timings of one kernel
/// differ by.
inline constexpr double kNoticeable = 0.005;

}  // namespace evo
