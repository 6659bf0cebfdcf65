#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/replay/methodology.h"
#include "engine/replay/recording.h"

namespace evo {

/// A figure with its 95 % confidence interval (bootstrap over runs, percentile).
struct Figure {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// The results of the runs of one strategy on one recorded space.
struct ReplayFigures {
  std::size_t runs = 0;
  std::vector<Figure> best;  ///< Best/optimum at each budget, mean over runs; one entry for each budget.
  Figure hit;                ///< Share of runs within 5 % of the optimum at the last budget.
  Figure reach;              ///< Evaluations until within 5 % of the optimum; of runs that never are, all.
  Figure score;              ///< P.
  double evaluations = 0;    ///< A run's, on average.
};

/// Several resamples of every figure of one space: kept so that means over spaces have intervals too.
struct ReplaySamples {
  ReplayFigures figures;
  std::vector<std::vector<double>> best_by_run;  ///< By run, by budget; not resampled.
  std::vector<std::vector<double>> best;         ///< By budget, by resample.
  std::vector<double> hit;
  std::vector<double> reach;
  std::vector<double> score;
};

/// Rows in order of evaluation, one list for each run; runs that stop early keep their last best.
using Orders = std::vector<std::vector<std::size_t>>;

ReplaySamples assess(const Recording& recording, const Methodology& methodology, const Orders& orders,
                     std::span<const std::size_t> budgets);

/// The mean of each figure over spaces. All must have the same budgets.
ReplayFigures mean_over(const std::vector<const ReplaySamples*>& spaces);

/// Mean and quartiles of best/optimum after each evaluation up to `evaluations`.
struct Curve {
  std::vector<double> mean;
  std::vector<double> low;   ///< First quartile of the runs.
  std::vector<double> high;  ///< Third quartile.
};
Curve convergence(const Recording& recording, const Methodology& methodology, const Orders& orders,
                  std::size_t evaluations);

}  // namespace evo
