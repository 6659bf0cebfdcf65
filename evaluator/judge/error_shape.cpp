#include "evaluator/judge/error_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace evo {
namespace {

/// A bias, a ratio or an offset that explains at least so much of the error is named.
constexpr double kOneSided = 0.9;
constexpr double kExplained = 0.05;
/// Residues of an index that a lane, a fragment or a tile may own.
constexpr std::uint64_t kPeriods[] = {2, 4, 8, 16, 32, 64};
constexpr std::size_t kMostNamed = 8;

struct Moments {
  double error = 0, absolute = 0, squared = 0;
  double got_want = 0, want_want = 0, got_got = 0;
};

std::uint64_t index_along(std::uint64_t element, const std::vector<NamedDim>& dims, std::size_t axis) {
  for (std::size_t i = dims.size(); i-- > axis + 1;) element /= dims[i].size;
  return element % dims[axis].size;
}

std::string joined(const std::vector<std::uint64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

/// The indices along one dim at which an element is wrong.
class Along {
 public:
  Along(const std::vector<std::uint64_t>& wrong, const std::vector<NamedDim>& dims, std::size_t axis)
      : dim_(dims[axis]), counts_(dim_.size) {
    for (const std::uint64_t element : wrong) ++counts_[index_along(element, dims, axis)];
  }

  /// "S 64 to 76 of 77"; empty when every index has its share, or no pattern is seen.
  std::string text() const {
    const std::vector<std::uint64_t> hit = indices();
    if (hit.empty() || hit.size() == dim_.size) return {};
    const bool run = hit.back() - hit.front() + 1 == hit.size();
    const std::string tile = run && hit.back() + 1 == dim_.size ? edge(hit.front()) : "";
    if (hit.size() == 1) return fmt::format("only {} {} of {}{}", dim_.name, hit.front(), dim_.size, tile);
    if (run && hit.back() + 1 == dim_.size) {
      return fmt::format("{} {} to {}, the last {} of {}{}", dim_.name, hit.front(), hit.back(), hit.size(), dim_.size,
                         tile);
    }
    if (run) return fmt::format("{} {} to {} of {}", dim_.name, hit.front(), hit.back(), dim_.size);
    if (const std::string periodic = residues(hit); !periodic.empty()) return periodic;
    if (hit.size() <= kMostNamed) return fmt::format("only {} {} of {}", dim_.name, joined(hit), dim_.size);
    if (2 * hit.size() <= dim_.size) return fmt::format("{} of {} indices of {}", hit.size(), dim_.size, dim_.name);
    return {};
  }

 private:
  std::vector<std::uint64_t> indices() const {
    std::vector<std::uint64_t> hit;
    for (std::uint64_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] > 0) hit.push_back(i);
    return hit;
  }

  /// The largest tile whose last, partly filled one begins there.
  std::string edge(std::uint64_t first) const {
    for (std::uint64_t tile = 256; tile >= 8; tile /= 2)
      if (first > 0 && first % tile == 0 && dim_.size - first < tile)
        return fmt::format(": a last, partly filled tile of {}", tile);
    return {};
  }

  /// The period that leaves the smallest share of residues.
  std::string residues(const std::vector<std::uint64_t>& hit) const {
    std::string text;
    double least = 0.5;
    for (const std::uint64_t period : kPeriods) {
      if (dim_.size < 2 * period) break;
      std::vector<bool> there(period);
      for (const std::uint64_t index : hit) there[index % period] = true;
      std::vector<std::uint64_t> residues;
      for (std::uint64_t r = 0; r < period; ++r)
        if (there[r]) residues.push_back(r);
      const double share = static_cast<double>(residues.size()) / static_cast<double>(period);
      if (residues.size() > kMostNamed || (text.empty() ? share > least : share >= least)) continue;
      least = share;
      text = fmt::format("only {} % {} = {}", dim_.name, period, joined(residues));
    }
    return text;
  }

  const NamedDim& dim_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace

std::string place_text(std::uint64_t element, const std::vector<NamedDim>& dims) {
  std::vector<std::string> parts;
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    parts.push_back(fmt::format("{} {}", dims[axis].name, index_along(element, dims, axis)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

ErrorShape error_shape(std::span<const double> got, std::span<const double> want, const std::vector<NamedDim>& dims,
                       const Tolerance& tolerance) {
  ErrorShape shape;
  shape.elements = want.size();
  std::vector<std::uint64_t> wrong;
  Moments sums;
  double worst = -1;
  for (std::uint64_t i = 0; i < want.size(); ++i) {
    const double error = got[i] - want[i];
    const bool finite = std::isfinite(got[i]);
    if (!finite) ++shape.not_finite;
    if (finite) {
      sums.error += error;
      sums.absolute += std::abs(error);
      sums.squared += error * error;
      sums.got_want += got[i] * want[i];
      sums.want_want += want[i] * want[i];
      sums.got_got += got[i] * got[i];
    }
    if (tolerance.holds(got[i], want[i])) continue;
    wrong.push_back(i);
    if (got[i] == 0) ++shape.zeros;
    const double size = finite ? std::abs(error) : HUGE_VAL;
    if (size > worst) {
      worst = size;
      shape.worst = i;
    }
  }
  shape.wrong = wrong.size();
  if (wrong.empty()) return shape;
  shape.first = wrong.front();
  shape.got = got[shape.worst];
  shape.want = want[shape.worst];
  const double finite = std::max(1.0, static_cast<double>(want.size() - shape.not_finite));
  shape.bias = sums.absolute > 0 ? sums.error / sums.absolute : 0;
  shape.offset = sums.error / finite;
  shape.spread = std::sqrt(std::max(0.0, sums.squared / finite - shape.offset * shape.offset));
  if (sums.want_want > 0) shape.ratio = sums.got_want / sums.want_want;
  if (sums.got_got > 0) {
    const double rest = sums.got_got - 2 * shape.ratio * sums.got_want + shape.ratio * shape.ratio * sums.want_want;
    shape.residual = std::sqrt(std::max(0.0, rest / sums.got_got));
  }
  if (shape.not_finite == 0) shape.arrangement = arrangement_of(got, want, dims, tolerance);
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    if (const std::string text = Along(wrong, dims, axis).text(); !text.empty()) shape.places.push_back(text);
  return shape;
}

std::vector<std::string> in_words(const ErrorShape& shape) {
  std::vector<std::string> words;
  if (shape.wrong == 0) return words;
  if (!shape.arrangement.empty()) words.push_back("the right values at wrong places: " + shape.arrangement);
  if (shape.not_finite > 0) {
    words.push_back(
        shape.not_finite == shape.elements
            ? "no element is finite: never written, or made from what was not"
            : fmt::format("{:.1f} % not finite: never written, or made from what was not",
                          100.0 * static_cast<double>(shape.not_finite) / static_cast<double>(shape.elements)));
  }
  const bool all_zero = shape.zeros > 0 && shape.zeros == shape.wrong;
  if (all_zero) words.emplace_back("zeros in the place of values");
  const bool finite = shape.not_finite < shape.elements;
  if (finite && !all_zero && shape.arrangement.empty()) {
    const bool scaled = shape.residual < kExplained && std::abs(shape.ratio - 1) > shape.residual;
    const bool shifted = !scaled && std::abs(shape.offset) > 0 && shape.spread < kExplained * std::abs(shape.offset);
    if (scaled) words.push_back(fmt::format("values are {:.4g} times what is wanted", shape.ratio));
    if (shifted) words.push_back(fmt::format("{:.4g} is added everywhere", shape.offset));
    if (!scaled && !shifted && std::abs(shape.bias) > kOneSided)
      words.emplace_back(shape.bias > 0 ? "errors are positive: values too large" : "errors are negative: too small");
  }
  for (const std::string& place : shape.places) words.push_back(place);
  words.push_back(fmt::format("{:.1f} % of the elements over tolerance",
                              100.0 * static_cast<double>(shape.wrong) / static_cast<double>(shape.elements)));
  return words;
}

std::vector<double> with_free_factor(std::span<const double> got, std::span<const double> want,
                                     const std::vector<NamedDim>& dims, FreeFactor free) {
  std::vector<double> scaled(want.begin(), want.end());
  if (free == FreeFactor::none || want.empty()) return scaled;
  std::uint64_t group = dims.empty() ? 1 : dims.back().size;
  if (free == FreeFactor::matrix && dims.size() > 1) group *= dims[dims.size() - 2].size;
  for (std::uint64_t begin = 0; begin < want.size(); begin += group) {
    double product = 0, square = 0;
    for (std::uint64_t i = begin; i < begin + group; ++i) {
      product += got[i] * want[i];
      square += want[i] * want[i];
    }
    if (square == 0) continue;
    for (std::uint64_t i = begin; i < begin + group; ++i) scaled[i] *= product / square;
  }
  return scaled;
}

}  // namespace evo
