#include "evaluator/judge/answer_size.h"

#include <algorithm>
#include <cmath>

#include "engine/task/calibration.h"
#include "evaluator/numbers/elements.h"

namespace evo {

AnswerSize answer_size(const ExpectedOutput& answer) {
  const std::size_t elements = answer.bytes.size() / size_of(answer.dtype);
  const bool changes = answer.before.size() == answer.bytes.size();
  AnswerSize sum;
  for (std::size_t i = 0; i < elements; ++i) {
    const double want = as_double(load_at(answer.dtype, answer.bytes.data(), i));
    sum.rms += want * want;
    if (!changes) continue;
    const double change = want - as_double(load_at(answer.dtype, answer.before.data(), i));
    sum.change += change * change;
  }
  const auto count = static_cast<double>(std::max<std::size_t>(elements, 1));
  return {std::sqrt(sum.rms / count), std::sqrt(sum.change / count)};
}

AnswerSize usual_size(std::span<const AnswerSize> sizes) {
  AnswerSize sum;
  double count = 0;
  for (const AnswerSize& size : sizes) {
    if (!std::isfinite(size.rms + size.change)) continue;
    sum.rms += size.rms * size.rms;
    sum.change += size.change * size.change;
    ++count;
  }
  if (count == 0) return {};
  return {std::sqrt(sum.rms / count), std::sqrt(sum.change / count)};
}

Difference relative_to_usual(Difference difference, const AnswerSize& own, const AnswerSize& usual) {
  if (own.change < usual.change) difference.change *= own.change / usual.change;
  if (own.rms >= usual.rms || difference.not_finite > 0) return difference;
  // No error is relative to zeros: the largest of an element bounds it.
  const double times = own.rms / usual.rms;
  difference.relative_l2 = own.rms > 0 ? difference.relative_l2 * times : difference.max_abs / usual.rms;
  difference.row_l2 = own.rms > 0 ? difference.row_l2 * times : difference.max_abs / usual.rms;
  difference.cosine = std::max(difference.cosine, smallest_cosine(difference.relative_l2));
  difference.want_rms = usual.rms;
  return difference;
}

}  // namespace evo
