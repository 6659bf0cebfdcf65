struct Difference {
  double relative_l2 = 0;
  double cosine = 1;
  double max_abs = 0;      // Relative to the reference's root mean square.
  double row_l2 = 0;       // The largest of a row, relative to the larger of that row's norm and the mean one.
  long long beyond = 0;    // Elements beyond atol + rtol |want|.
  long long unequal = 0;
  long long off_by_one = 0, further_off = 0;  // Of integers.
  long long elements = 0;
  bool finite = true;  // But where the reference has the same infinity, or NaN too.
};

// Before a call, outputs have every bit set.
inline bool was_written(const Tensor& tensor, const Bytes& got, size_t i) {
  const unsigned char* const first = &got[i * size_of(tensor.dtype)];
  return !std::all_of(first, first + size_of(tensor.dtype), [](unsigned char byte) { return byte == 0xff; });
}

// What the reference writes and what a call wrote, one after the other; `got_at` gives an element's real value.
template <class GotAt>
Difference compare(const Tensor& tensor, const Bytes& got, const Bytes& want, GotAt got_at) {
  const size_t size = static_cast<size_t>(count(tensor)), row = static_cast<size_t>(row_of(tensor));
  double error = 0, norm = 0, got_norm = 0, dot = 0, most = 0, row_error = 0, row_norm = 0, norms = 0;
  std::vector<double> row_errors, row_norms;
  Difference difference;
  for (size_t i = 0; i < size; ++i) {
    double g = got_at(i);
    double w = load_at(tensor.wanted, want, i);
    if (!std::isfinite(g) || !std::isfinite(w)) {
      const bool both_nan = std::isnan(g) && std::isnan(w) && was_written(tensor, got, i);
      difference.finite = difference.finite && (both_nan || g == w);
      g = w = 0;
    }
    const bool same = is_integer(tensor.dtype) && tensor.dtype == tensor.wanted && tensor.scale < 0
                          ? std::memcmp(&got[i * size_of(tensor.dtype)], &want[i * size_of(tensor.dtype)], size_of(tensor.dtype)) == 0
                          : g == w;
    difference.unequal += !same;
    difference.off_by_one += std::fabs(g - w) == 1;
    difference.further_off += std::fabs(g - w) > 1;
    difference.beyond += !(std::fabs(g - w) <= tensor.limits.atol + tensor.limits.rtol * std::fabs(w));
    row_error += (g - w) * (g - w);
    row_norm += w * w;
    got_norm += g * g;
    dot += g * w;
    most = std::max(most, std::fabs(g - w));
    if ((i + 1) % row != 0) continue;
    error += row_error;
    norm += row_norm;
    norms += std::sqrt(row_norm);
    row_errors.push_back(std::sqrt(row_error));
    row_norms.push_back(std::sqrt(row_norm));
    row_error = row_norm = 0;
  }
  difference.elements = static_cast<long long>(size);
  for (size_t r = 0; r < row_errors.size() && row_errors.size() > 1; ++r) {
    const double scale = std::max(row_norms[r], norms / static_cast<double>(row_norms.size()));
    if (row_errors[r] > 0) difference.row_l2 = std::max(difference.row_l2, row_errors[r] / scale);
  }
  if (norm > 0) {
    difference.relative_l2 = std::sqrt(error / norm);
    difference.cosine = got_norm > 0 ? dot / std::sqrt(norm * got_norm) : 0.0;
    difference.max_abs = most / std::sqrt(norm / static_cast<double>(size));
  } else if (error > 0) {
    difference.relative_l2 = difference.max_abs = INFINITY;
    difference.cosine = 0;
  }
  return difference;
}

inline bool within_limits(const Difference& d, const Limits& limits) {
  if (!d.finite) return false;
  if (limits.exact) return d.unequal == 0;
  if (limits.off_by_one > 0) return d.further_off == 0 && static_cast<double>(d.off_by_one) <= limits.off_by_one * static_cast<double>(d.elements);
  return std::isfinite(d.max_abs) && (limits.relative_l2 == 0 || d.relative_l2 <= limits.relative_l2) &&
         d.cosine >= (limits.cosine == 0 ? -1.0 : limits.cosine) && (limits.max_abs == 0 || d.max_abs <= limits.max_abs) &&
         (limits.row_l2 == 0 || d.row_l2 <= limits.row_l2) &&
         ((limits.atol == 0 && limits.rtol == 0) || d.beyond == 0);
}
