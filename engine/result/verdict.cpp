#include "engine/result/verdict.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "engine/base/error.h"
#include "engine/record/enumerators.h"

namespace evo {
namespace {

// clang-format off
constexpr auto kVerdicts = std::to_array<VerdictInfo>({
    {Verdict::valid, true, OutcomeClass::ok, VerdictStage::valid, "It computes what the task asks for, and was timed."},
    {Verdict::illegal, false, OutcomeClass::invalid, VerdictStage::illegal, "It breaks a rule that holds for every candidate: a launch beyond the device's limits, a writable global variable, a launch that never waits for those ahead."},
    {Verdict::duplicate, true, OutcomeClass::ok, VerdictStage::duplicate, "It has the source or the cubin of an earlier candidate of the run, whose result is copied."},
    {Verdict::compile_failed, false, OutcomeClass::compile, VerdictStage::built, "The compiler refused it."},
    {Verdict::over_resources, false, OutcomeClass::compile, VerdictStage::built, "It was compiled, but a kernel that it launches spills registers, uses too much stack, cannot be resident, or is one that ptxas warned of; or the memory cannot hold a workspace."},
    {Verdict::unsupported, true, OutcomeClass::compile, VerdictStage::built, "The device cannot execute it: an instruction that the virtual GPU does not know."},
    {Verdict::launch_failed, true, OutcomeClass::runtime, VerdictStage::ran, "The device refused the launch."},
    {Verdict::crashed, true, OutcomeClass::runtime, VerdictStage::ran, "An illegal address, a trap, a finding of the sanitiser, or the worker died."},
    {Verdict::timed_out, true, OutcomeClass::timeout, VerdictStage::ran, "It ran for longer than it may."},
    {Verdict::wrong_answer, true, OutcomeClass::correctness, VerdictStage::wrong, "An output differs from the reference by more than the limits allow."},
    {Verdict::unrepeatable, true, OutcomeClass::correctness, VerdictStage::wrong, "Two runs on the same input differ bitwise."},
    {Verdict::skips_work, true, OutcomeClass::correctness, VerdictStage::timed, "It does less where a launch brings what an earlier one brought: the same inputs, a finished output, a workspace in use."},
    {Verdict::impossible_time, true, OutcomeClass::runtime, VerdictStage::timed, "It was timed faster than the physical floor: a measurement error."},
    {Verdict::harness_failed, true, OutcomeClass::runtime, VerdictStage::timed, "A failure of the harness, which is never held against the genome."},
});
// clang-format on

static_assert(has_row_for_each(kVerdicts, &VerdictInfo::verdict),
              "each verdict has its row, in the order of the enumeration");

}  // namespace

std::span<const VerdictInfo> verdicts() {
  return kVerdicts;
}

const VerdictInfo& info_of(Verdict verdict) {
  return kVerdicts.at(static_cast<std::size_t>(verdict));
}

std::string_view name_of(Verdict verdict) {
  return enumerator_name(verdict);
}

std::string_view name_of(VerdictStage stage) {
  return enumerator_name(stage);
}

Verdict parse_verdict(std::string_view name) {
  if (const auto verdict = enumerator_named<Verdict>(name)) return *verdict;
  throw usage_error(fmt::format("unknown verdict '{}'", name));
}

bool was_built(Verdict verdict) {
  return info_of(verdict).built;
}

OutcomeClass outcome_class_of(Verdict verdict) {
  return info_of(verdict).outcome;
}

}  // namespace evo
