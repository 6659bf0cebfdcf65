#include "evaluator/judge/wrong_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "engine/task/scope.h"
#include "evaluator/numbers/elements.h"

namespace evo {
namespace {

/// An element is wrong when it is off by more than this many times the error that the limit allows on average.
constexpr double kOutlier = 4;
constexpr std::size_t kShortPhrases = 3;

std::vector<double> numbers_of(DType dtype, const std::vector<std::byte>& bytes, std::uint64_t count) {
  std::vector<double> numbers;
  numbers.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers.push_back(as_double(load_at(dtype, bytes.data(), i)));
  return numbers;
}

bool is_name(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

std::vector<NamedDim> named_dims(const Tensor& tensor, const Bindings& known) {
  const std::vector<std::int64_t> sizes = dims_of(tensor, known);
  std::vector<NamedDim> dims;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string& text = tensor.dims[i].text();
    dims.push_back({is_name(text) ? text : fmt::format("dim {}", i), static_cast<std::uint64_t>(sizes[i])});
  }
  return dims;
}

std::vector<bool> missing_rows(const std::vector<double>& got, const std::vector<NamedDim>& dims) {
  const std::uint64_t row = dims.empty() ? 1 : dims.back().size;
  std::vector<bool> missing(got.size() / row, true);
  for (std::uint64_t i = 0; i < got.size(); ++i)
    if (std::isfinite(got[i])) missing[i / row] = false;
  return missing;
}

double root_mean_square(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number * number;
  return numbers.empty() ? 0 : std::sqrt(sum / static_cast<double>(numbers.size()));
}

Tolerance tolerance_of(const Limits& limits, const std::vector<double>& want) {
  if (limits.exact) return {};
  if (limits.atol > 0 || limits.rtol > 0) return {limits.atol, limits.rtol};
  const double allowed = limits.relative_l2 > 0 ? limits.relative_l2 : limits.max_abs;
  return {kOutlier * allowed * root_mean_square(want), 0};
}

}  // namespace

ExpectedOutput as_expected(const std::vector<double>& numbers) {
  ExpectedOutput expected{DType::f32, std::vector<std::byte>(numbers.size() * sizeof(float))};
  for (std::uint64_t i = 0; i < numbers.size(); ++i) store_at(DType::f32, expected.bytes.data(), i, numbers[i]);
  return expected;
}

std::optional<WrongAnswer> wrong_answer(const Task& task, const Bindings& options, const Case& one,
                                        const ComparedOutput& output, FreeFactor free) {
  if (!miss_of(output.difference, output.limits)) return std::nullopt;
  const Bindings known = joined(options, one.shape.parameters);
  const std::vector<NamedDim> dims = named_dims(*task.tensor(output.name), known);
  const std::vector<double> got = numbers_of(output.got_dtype, output.got, output.elements);
  const std::vector<double> want = numbers_of(output.want->dtype, output.want->bytes, output.elements);
  Difference difference = output.difference;
  if (free != FreeFactor::none && difference.not_finite == 0) {
    const std::uint64_t row = dims.empty() ? 1 : dims.back().size;
    const ExpectedOutput scaled = as_expected(with_free_factor(got, want, dims, free));
    difference = compare(output.got_dtype, output.got, scaled, output.limits, row);
  }
  const auto miss = miss_of(difference, output.limits);
  if (!miss) return std::nullopt;
  // What was wanted is shown as it is: a factor that fits nothing would only blur it.
  return WrongAnswer{
      {.shape = one.shape.name, .regime = one.regime.name, .seed = one.seed, .output = output.name, .miss = *miss},
      dims,
      error_shape(got, want, dims, tolerance_of(output.limits, want)),
      missing_rows(got, dims)};
}

std::string summary(const WrongAnswer& wrong) {
  std::vector<std::string> phrases = in_words(wrong.error);
  if (phrases.empty()) return {};
  phrases.resize(std::min(phrases.size(), kShortPhrases));
  return fmt::format("{}; worst at {}: got {:.4g}, reference {:.4g}", fmt::join(phrases, "; "),
                     place_text(wrong.error.worst, wrong.dims), wrong.error.got, wrong.error.want);
}

}  // namespace evo
