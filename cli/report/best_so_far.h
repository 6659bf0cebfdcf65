#pragma once

#include <optional>
#include <vector>

namespace evo::cli {

/// A point at which the best latency of a run fell.
struct BestStep {
  double at = 0;  ///< Evaluations, or seconds since the run was started.
  double latency_us = 0;
};

/// One run: its falling best latency and where it ended.
struct BestCurve {
  std::vector<BestStep> steps;  ///< `at` ascends, `latency_us` falls.
  double end = 0;
};

/// The best latencies of several runs at the same places. Empty: not known there.
struct BestCurves {
  std::vector<double> at;  ///< Every step's and every end's place, once, ascending.
  std::vector<std::vector<std::optional<double>>>
      runs;  ///< By run; empty before its first valid kernel and behind its end.
  // Over the runs. One that has ended keeps its best. One that has found nothing yet is slower than any other.
  std::vector<std::optional<double>> median, least, largest;
};

BestCurves curves_together(const std::vector<BestCurve>& curves);

}  // namespace evo::cli
