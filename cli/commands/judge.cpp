#include <fmt/format.h>

#include <cmath>

#include "cli/commands/verify.h"
#include "cli/text/format.h"

namespace evo::cli {
namespace {

// Exact means up to the digits that an exported file spells out.
constexpr double kRounding = 1e-9;

std::string change_text(double claimed_us, double found_us) {
  const double change = found_us / claimed_us - 1;
  if (std::abs(change) < 1e-9) return "the same";
  return fmt::format("{:.1f} % {}", std::abs(change) * 100, change > 0 ? "slower" : "faster");
}

}  // namespace

bool agrees(double claimed_us, double found_us, double tolerance) {
  // Written so that a NaN disagrees.
  return claimed_us > 0 && std::abs(found_us - claimed_us) <= std::max(tolerance, kRounding) * claimed_us;
}

void judge(Finding& finding) {
  const Evaluation& evaluation = finding.evaluation;
  if (evaluation.verdict != Verdict::valid) {
    finding.reproduced = false;
    finding.why = fmt::format("{}{}", name_of(evaluation.verdict),
                              evaluation.reason.empty() ? "" : fmt::format(": {}", evaluation.reason));
    return;
  }
  if (!finding.comparable) {
    finding.reproduced = true;
    finding.why = fmt::format("correct; its latency was claimed for {} and cannot be compared with {}",
                              finding.claim.device.name, finding.device.name);
    return;
  }
  finding.reproduced = agrees(finding.claim.latency_us, evaluation.latency_us, finding.tolerance);
  finding.why =
      fmt::format("correct, and its latency is {} {}", change_text(finding.claim.latency_us, evaluation.latency_us),
                  finding.tolerance > 0 ? fmt::format("(within {:.0f} % counts as reproduced)", finding.tolerance * 100)
                                        : "(modelled latencies must be equal)");
}

}  // namespace evo::cli
