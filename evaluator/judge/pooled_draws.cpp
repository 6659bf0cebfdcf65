#include "evaluator/judge/pooled_draws.h"

#include <algorithm>
#include <cmath>

#include "engine/task/calibration.h"

namespace evo {
namespace {

/// Errors of rows differ by factors, and those of a matrix are not independent: the error of n rows scatters by
/// up to about 4 / sqrt(n) of itself.
constexpr double kScatter = 4;
/// The worst of the rows scatters so much, whatever their number.
constexpr double kWorstRowAllowance = 2;
constexpr double kFarOff = 4;
/// Standard errors of the mean.
constexpr double kSignificant = 2;
/// Of the means, over so many rows together.
constexpr double kPooledRows = 2048;
constexpr int kFewestDraws = 2, kMostDraws = 16;

/// Those that make up the norm: the error is the error of these.
double counting_rows(const Difference& difference, std::uint64_t rows) {
  const double all = std::max(static_cast<double>(rows), 1.0);
  return difference.rows_that_count > 0 ? std::min(all, difference.rows_that_count) : all;
}

}  // namespace

bool PooledDraws::leave_open(const Difference& difference, const Limits& limits, std::uint64_t rows, bool further) {
  if (!limits.follow_emulation() || difference.not_finite > 0) return false;
  const double deviations = 2.5 * kScatter / std::sqrt(counting_rows(difference, rows));
  const double allowance = further ? kFarOff : 1 + std::min(deviations, 2.0);
  Limits wider = limits;
  if (limits.emulated_l2.times > 0) {
    wider.relative_l2 *= allowance;
    wider.cosine = std::min(limits.cosine, smallest_cosine(wider.relative_l2));
  }
  if (limits.emulated_row.times > 0) wider.row_l2 *= further ? kFarOff : kWorstRowAllowance;
  return !miss_of(difference, wider);
}

int PooledDraws::further_draws(const Difference& difference, std::uint64_t rows) {
  return static_cast<int>(std::clamp<double>(kPooledRows / counting_rows(difference, rows), kFewestDraws, kMostDraws));
}

void PooledDraws::add(const Mismatch& draw, const Difference& difference, const Limits& limits, bool open) {
  Pool& into = pools_[{draw.shape, draw.regime, draw.output}];
  into.l2.add(difference.relative_l2, limits.relative_l2);
  into.row.add(difference.row_l2, limits.row_l2);
  if (open && !into.open) into.open = draw;
}

std::optional<Mismatch> PooledDraws::mismatch() const {
  for (const auto& [name, pool] : pools_) {
    if (!pool.open || !(pool.l2.exceeds() || pool.row.exceeds())) continue;
    Mismatch mismatch = *pool.open;
    mismatch.found = MismatchFound::on_average;
    mismatch.draws = static_cast<std::uint64_t>(pool.l2.draws);
    mismatch.mean_l2 = pool.l2.mean_error();
    mismatch.mean_l2_limit = pool.l2.mean_limit();
    mismatch.mean_row = pool.row.mean_error();
    mismatch.mean_row_limit = pool.row.mean_limit();
    return mismatch;
  }
  return std::nullopt;
}

void PooledDraws::Excess::add(double error, double limit) {
  ++draws;
  errors += error;
  limits += limit;
  squares += (error - limit) * (error - limit);
}

bool PooledDraws::Excess::exceeds() const {
  const double mean = mean_error() - mean_limit();
  if (draws < 2) return mean > 0;
  const double variance = std::max(0.0, squares / draws - mean * mean) * draws / (draws - 1);
  return mean > kSignificant * std::sqrt(variance / draws);
}

}  // namespace evo
