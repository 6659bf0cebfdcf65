#include "evaluator/pipeline/evaluation_log.h"

#include <fmt/format.h>

#include <string>

#include "engine/result/verdict.h"
#include "evaluator/base/log.h"

namespace evo {
namespace {

std::string verdict_line(std::uint64_t ticket, const Evaluation& evaluation) {
  std::string line = fmt::format("candidate {}: {}", ticket, name_of(evaluation.verdict));
  if (evaluation.original) line += fmt::format(" of candidate {}", evaluation.original->ticket);
  if (evaluation.verdict == Verdict::valid) line += fmt::format(", {:.4g} us", evaluation.latency_us);
  if (!evaluation.ran_on.device.empty())
    line += fmt::format(", on {} of {}", evaluation.ran_on.device, evaluation.ran_on.host);
  line += fmt::format(", waited {:.3f} s, validation {:.3f} s, timing {:.3f} s", evaluation.phases.waiting_s,
                      evaluation.phases.validation_s, evaluation.phases.timing_s);
  if (!evaluation.reason.empty()) line += ": " + evaluation.reason;
  return line;
}

std::string timing_line(std::uint64_t ticket, const Timing& timing) {
  const std::string line =
      fmt::format("candidate {}: shape {} {}: {:.4g} us ({:.4g} to {:.4g}), {} samples, {} dropped", ticket,
                  timing.shape, timing.cold ? "cold" : "warm", timing.median_us, timing.low_us, timing.high_us,
                  timing.samples_us.size(), timing.throttled);
  const std::string clocks = to_text(timing.conditions);
  return clocks.empty() ? line : fmt::format("{}; {}", line, clocks);
}

}  // namespace

void log_evaluation(std::uint64_t ticket, const Evaluation& evaluation) {
  log_line(LogLevel::info, [&] { return verdict_line(ticket, evaluation); });
  for (const Timing& timing : evaluation.timings) log_line(LogLevel::info, [&] { return timing_line(ticket, timing); });
}

}  // namespace evo
