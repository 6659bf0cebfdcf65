#include "engine/task/evaluation.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "engine/base/error.h"

namespace evo {
namespace {

constexpr std::array<std::pair<Verdict, std::string_view>, 13> kNames = {{
    {Verdict::valid, "valid"},
    {Verdict::illegal, "illegal"},
    {Verdict::duplicate, "duplicate"},
    {Verdict::compile_failed, "compile_failed"},
    {Verdict::over_resources, "over_resources"},
    {Verdict::unsupported, "unsupported"},
    {Verdict::launch_failed, "launch_failed"},
    {Verdict::crashed, "crashed"},
    {Verdict::timed_out, "timed_out"},
    {Verdict::wrong_answer, "wrong_answer"},
    {Verdict::unrepeatable, "unrepeatable"},
    {Verdict::impossible_time, "impossible_time"},
    {Verdict::harness_failed, "harness_failed"},
}};

}  // namespace

std::string_view name_of(Verdict verdict) {
  for (const auto& [value, name] : kNames) {
    if (value == verdict) return name;
  }
  throw std::logic_error("verdict without a name");
}

Verdict parse_verdict(std::string_view wanted) {
  for (const auto& [value, name] : kNames) {
    if (name == wanted) return value;
  }
  throw usage_error(fmt::format("unknown verdict '{}'", wanted));
}

std::string to_text(const Conditions& conditions) {
  if (conditions.sm_mhz_high == 0) return "";
  std::string text = fmt::format("SM {}", conditions.sm_mhz_low);
  if (conditions.sm_mhz_high != conditions.sm_mhz_low) text += fmt::format("-{}", conditions.sm_mhz_high);
  text += conditions.power_limited ? " MHz (power limit)" : " MHz";
  if (conditions.memory_mhz > 0) text += fmt::format(", memory {} MHz", conditions.memory_mhz);
  return text;
}

bool was_built(Verdict verdict) {
  return verdict != Verdict::illegal && verdict != Verdict::compile_failed && verdict != Verdict::over_resources;
}

std::optional<double> latency_of(const Evaluation& evaluation) {
  const bool measured = evaluation.verdict == Verdict::valid || evaluation.verdict == Verdict::duplicate;
  const bool sensible = std::isfinite(evaluation.latency_us) && evaluation.latency_us > 0;
  return measured && sensible ? std::optional<double>(evaluation.latency_us) : std::nullopt;
}

}  // namespace evo
