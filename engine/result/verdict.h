#pragma once

#include <span>
#include <string_view>

namespace evo {

/// How the evaluation of a candidate ended. Everything but `valid` and `duplicate` is a failure. A verdict is added
/// here and in the table of verdict.cpp.
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
  skips_work,
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

/// How far candidates come: the stages on the way to a valid one, in their order, each by what ends there.
enum class VerdictStage {
  duplicate,
  illegal,
  built,  ///< There is no program that the device can run.
  ran,    ///< It failed while it ran.
  wrong,  ///< Its answers are not right, or not repeatable.
  timed,  ///< Its time is not believed.
  valid,
};

struct VerdictInfo {
  Verdict verdict = Verdict::valid;
  bool built = false;  ///< There was a program that a device could be given.
  OutcomeClass outcome = OutcomeClass::ok;
  VerdictStage stage = VerdictStage::valid;
  std::string_view meaning;  ///< One sentence, for people.
};

/// All verdicts, in the order of the enumeration.
std::span<const VerdictInfo> verdicts();
const VerdictInfo& info_of(Verdict verdict);

/// As databases, files and reports have it: the enumerator.
std::string_view name_of(Verdict verdict);
std::string_view name_of(VerdictStage stage);
/// Throws usage_error for an unknown name.
Verdict parse_verdict(std::string_view name);
/// Whether there was a program that a device could be given.
bool was_built(Verdict verdict);
OutcomeClass outcome_class_of(Verdict verdict);

}  // namespace evo
