#pragma once

#include <span>
#include <string_view>

namespace evo {

/// How the evaluation of a candidate ended. Everything but `valid` has a reason in words, and everything but `valid`
/// and `duplicate` is a failure. A new verdict gets a row in verdict.cpp, a step of the report's funnel and a colour
/// there (cli/report/page_data.cpp, cli/report/page/base.js). harness_failed stays the last.
enum class Verdict {
  valid,
  illegal,
  duplicate,
  compile_failed,
  over_resources,
  unsupported,
  launch_failed,
  crashed,
  timed_out,
  wrong_answer,
  unrepeatable,
  impossible_time,
  harness_failed,
};

/// The coarser outcomes that results files of auto-tuners distinguish.
enum class OutcomeClass {
  ok,
  invalid,      ///< It breaks a constraint or a limit of the device.
  compile,      ///< There is no program that the device can run.
  runtime,      ///< It failed while it ran.
  timeout,      ///< It ran for too long.
  correctness,  ///< It computed something else.
};

struct VerdictInfo {
  Verdict verdict = Verdict::valid;
  std::string_view name;  ///< As databases, files and reports have it.
  bool built = false;     ///< There was a program that a device could be given.
  OutcomeClass outcome = OutcomeClass::ok;
  std::string_view meaning;  ///< One sentence, for people.
};

/// All verdicts, in the order of the enumeration.
std::span<const VerdictInfo> verdicts();
const VerdictInfo& info_of(Verdict verdict);

std::string_view name_of(Verdict verdict);
/// Throws usage_error for an unknown name.
Verdict parse_verdict(std::string_view name);
/// Whether there was a program that a device could be given.
bool was_built(Verdict verdict);
OutcomeClass outcome_class_of(Verdict verdict);

}  // namespace evo
