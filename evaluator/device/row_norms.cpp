#include "evaluator/device/row_norms.h"

#include <algorithm>
#include <cmath>

namespace evo {

void RowNorms::set(std::uint64_t row, double error_squared, double want_squared) {
  errors[row] = std::sqrt(error_squared);
  wanted[row] = std::sqrt(want_squared);
}

RowFindings RowNorms::findings() const {
  RowFindings found;
  double mean = 0;
  double squares = 0, fourth_powers = 0;
  for (const double norm : wanted) {
    mean += norm / static_cast<double>(wanted.size());
    squares += norm * norm;
    fourth_powers += norm * norm * norm * norm;
  }
  if (fourth_powers > 0) found.rows_that_count = squares * squares / fourth_powers;
  for (std::uint64_t r = 0; r < wanted.size(); ++r) {
    const double scale = std::max(wanted[r], mean);
    const double error = scale > 0 ? finite_error(errors[r] / scale) : (errors[r] > 0 ? kIncomparable : 0);
    if (error <= found.row_l2) continue;
    found.row_l2 = error;
    found.worst_row = r;
  }
  return found;
}

}  // namespace evo
