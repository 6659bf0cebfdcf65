#include "cli/text/result_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/text/format.h"
#include "engine/record/enumerators.h"

namespace evo::cli {
namespace {

/// "1 element is", "3 elements are".
std::string elements_text(std::uint64_t count) {
  return count == 1 ? "1 element is" : fmt::format("{} elements are", count);
}

/// What limits that follow the emulation were made from.
std::string emulation_text(const Mismatch& mismatch) {
  if (!mismatch.emulation_l2) return "";
  if (!mismatch.emulation_row)
    return fmt::format("; single precision errs by {:.4g} on these inputs", *mismatch.emulation_l2);
  return fmt::format("; the emulation errs by {:.4g} on these inputs, {:.4g} in its worst row", *mismatch.emulation_l2,
                     *mismatch.emulation_row);
}

std::string means_text(const Mismatch& mismatch) {
  if (mismatch.mean_row_limit == 0)
    return fmt::format(" (mean of {} draws: {:.4g}, limit {:.4g})", mismatch.draws, mismatch.mean_l2,
                       mismatch.mean_l2_limit);
  return fmt::format(" (mean of {} draws: {:.4g}, limit {:.4g}; of their worst rows {:.4g}, limit {:.4g})",
                     mismatch.draws, mismatch.mean_l2, mismatch.mean_l2_limit, mismatch.mean_row,
                     mismatch.mean_row_limit);
}

std::string standing_text(Standing standing) {
  switch (standing) {
    case Standing::faster:
      return "FASTER than";
    case Standing::same:
      return "SAME as";
    case Standing::slower:
      return "SLOWER than";
    case Standing::challenger_failed:
    case Standing::elite_failed:
      break;  // Nothing was timed.
  }
  return "";
}

std::string elite_text(const EliteComparison& comparison) {
  return comparison.elite > 0 ? fmt::format("elite {}", comparison.elite) : "an elite of another database";
}

/// Answers of before there were a value and the reference's have none.
std::string not_finite_text(const Miss& miss) {
  const std::string where = fmt::format("the first at {}", miss.first);
  const bool wanted_finite = miss.reference.empty() || (miss.reference.find("nan") == std::string::npos &&
                                                        miss.reference.find("inf") == std::string::npos);
  if (wanted_finite)
    return fmt::format("{} values are not finite, {} (never written, or computed from garbage)", miss.elements, where);
  return fmt::format("{} values are not the infinity or NaN that the reference has, {}: {}, not {}", miss.elements,
                     where, miss.got, miss.reference);
}

}  // namespace

std::string miss_text(const Miss& miss) {
  switch (miss.kind) {
    case LimitKind::not_finite:
      return not_finite_text(miss);
    case LimitKind::exact:
      return fmt::format("{} not equal, the first at {}: {}, not {}", elements_text(miss.elements), miss.first,
                         miss.got, miss.reference);
    case LimitKind::zero:
      return fmt::format("the answer is all zeros, it has {:.3g}", miss.error);
    case LimitKind::relative_l2:
      return fmt::format("relative L2 error {:.4g} (limit {:g})", miss.error, miss.allowed);
    case LimitKind::cosine:
      return fmt::format("cosine {:.5g} (at least {:g})", miss.error, miss.allowed);
    case LimitKind::max_abs:
      return fmt::format("largest error {:.4g} of the answer's RMS (limit {:g})", miss.error, miss.allowed);
    case LimitKind::row_l2:
      return fmt::format("relative L2 error {:.4g} in row {} (limit of a row {:g})", miss.error, miss.first,
                         miss.allowed);
    case LimitKind::element:
      return fmt::format("{} beyond atol {:g} + rtol {:g} |want|, the first at {}", elements_text(miss.elements),
                         miss.atol, miss.rtol, miss.first);
    case LimitKind::change:
      return fmt::format("error {:.4g} of what the call is to change (limit {:g})", miss.error, miss.allowed);
    case LimitKind::off_by_one:
      if (miss.elements > 0)
        return fmt::format("{} off by more than one step, the first at {}", elements_text(miss.elements), miss.first);
      return fmt::format("{:.3g} % of the elements are off by one step (limit {:g} %)", 100 * miss.error,
                         100 * miss.allowed);
  }
  return "";
}

std::string mismatch_text(const Mismatch& mismatch) {
  const std::string text =
      fmt::format("shape {}, regime {}, seed {}: {}: {}{}", mismatch.shape, mismatch.regime, mismatch.seed,
                  mismatch.output, miss_text(mismatch.miss), emulation_text(mismatch));
  switch (mismatch.found) {
    case MismatchFound::on_more_seeds:
      return text + " (a seed beyond the grid's, where the grid came close to the limit)";
    case MismatchFound::on_average:
      return text + means_text(mismatch);
    case MismatchFound::while_timed:
      return "while timing: " + text;
    case MismatchFound::after_timing:
      return "with new inputs after timing (an earlier answer reused?): " + text;
    case MismatchFound::on_grid:
      break;
  }
  return text;
}

std::string fault_text(const std::string& reason, const std::optional<Mismatch>& mismatch,
                       const std::optional<Original>& original) {
  std::vector<std::string> parts;
  if (original)
    parts.push_back(fmt::format("same {} as proposal {}: {}", enumerator_name(original->shared), original->ticket,
                                name_of(original->verdict)));
  if (!reason.empty()) parts.push_back(reason);
  if (mismatch) parts.push_back(mismatch_text(*mismatch));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string reason_text(const std::string& reason, const std::optional<Mismatch>& mismatch,
                        const std::optional<Original>& original) {
  const std::string text = fault_text(reason, mismatch, original);
  return mismatch && !mismatch->looks_like.empty() ? text + "; looks like: " + mismatch->looks_like : text;
}

std::string comparison_text(const EliteComparison& comparison) {
  const std::string elite = elite_text(comparison);
  if (comparison.standing == Standing::elite_failed)
    return fmt::format("displaced {}, which failed: {}", elite, comparison.failure);
  if (comparison.standing == Standing::challenger_failed)
    return fmt::format("no elite: it failed in the comparison with {}: {}", elite, comparison.failure);
  const PairedRatio ratio{comparison.ratio, comparison.ratio_low, comparison.ratio_high, comparison.rounds};
  return fmt::format("{} {}: {} of its latency over {} rounds, timed in turns", standing_text(comparison.standing),
                     elite, ratio_text(ratio), comparison.rounds);
}

std::string residency_text(const std::vector<Residency>& residency) {
  std::string text;
  for (const Residency& launch : residency)
    text += fmt::format("{}: {} registers, {} B shared, {} blocks/SM\n", launch.kernel, launch.registers,
                        launch.smem_bytes, launch.blocks);
  return text;
}

}  // namespace evo::cli
