#include "engine/task/verdict.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "engine/base/error.h"

namespace evo {
namespace {

constexpr std::size_t kCount = static_cast<std::size_t>(Verdict::harness_failed) + 1;

// clang-format off
constexpr std::array<VerdictInfo, kCount> kVerdicts = {{
    {Verdict::valid, "valid", true, OutcomeClass::ok, "It computes what the task asks for, and was timed."},
    {Verdict::illegal, "illegal", false, OutcomeClass::invalid, "It exceeds a limit of the device; nothing was built."},
    {Verdict::duplicate, "duplicate", true, OutcomeClass::ok, "It has the source or the cubin of an earlier candidate of the run, whose result is copied."},
    {Verdict::compile_failed, "compile_failed", false, OutcomeClass::compile, "The compiler refused it."},
    {Verdict::over_resources, "over_resources", false, OutcomeClass::compile, "It was compiled, but spills registers, uses too much stack, cannot be resident, has a workspace that the memory cannot hold, or ptxas warned that it serialises."},
    {Verdict::unsupported, "unsupported", true, OutcomeClass::compile, "The device cannot execute it: an instruction that the virtual GPU does not know."},
    {Verdict::launch_failed, "launch_failed", true, OutcomeClass::runtime, "The device refused the launch."},
    {Verdict::crashed, "crashed", true, OutcomeClass::runtime, "An illegal address, a trap, a finding of the sanitiser, or the worker died."},
    {Verdict::timed_out, "timed_out", true, OutcomeClass::timeout, "It ran for longer than it may."},
    {Verdict::wrong_answer, "wrong_answer", true, OutcomeClass::correctness, "An output differs from the reference by more than the limits allow."},
    {Verdict::unrepeatable, "unrepeatable", true, OutcomeClass::correctness, "Two runs on the same input differ bitwise."},
    {Verdict::impossible_time, "impossible_time", true, OutcomeClass::runtime, "It was timed faster than the physical floor: a measurement error."},
    {Verdict::harness_failed, "harness_failed", true, OutcomeClass::runtime, "A failure of the harness, which is never held against the genome."},
}};
// clang-format on

constexpr bool verdicts_in_order() {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (kVerdicts[i].verdict != static_cast<Verdict>(i) || kVerdicts[i].name.empty()) return false;
  }
  return true;
}
static_assert(verdicts_in_order(), "each verdict has its row, in the order of the enumeration");

}  // namespace

std::span<const VerdictInfo> verdicts() {
  return kVerdicts;
}

const VerdictInfo& info_of(Verdict verdict) {
  return kVerdicts.at(static_cast<std::size_t>(verdict));
}

std::string_view name_of(Verdict verdict) {
  return info_of(verdict).name;
}

Verdict parse_verdict(std::string_view name) {
  for (const VerdictInfo& info : kVerdicts) {
    if (info.name == name) return info.verdict;
  }
  throw usage_error(fmt::format("unknown verdict '{}'", name));
}

bool was_built(Verdict verdict) {
  return info_of(verdict).built;
}

OutcomeClass outcome_class_of(Verdict verdict) {
  return info_of(verdict).outcome;
}

}  // namespace evo
