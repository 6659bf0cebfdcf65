#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/source_tree.h"
#include "engine/base/text_edit.h"
#include "engine/task/task.h"

namespace evo {

/// The default limit, as a multiple of an honest kernel's error.
inline constexpr double kFloorFactor = 1.5;

/// The emulations that need no edits, as limits.json names them in "arithmetic".
inline constexpr const char* kSinglePrecision = "single";
inline constexpr const char* kPlainSinglePrecision = "plain single";

/// TASK/limits.json: how far an honest kernel of the lowest precision that the task admits is from the reference,
/// measured, and what follows for the limits. The emulation is the reference with edits that round where such a kernel
/// rounds.
struct Calibration {
  std::string about;  ///< What the emulation rounds.
  std::vector<TextEdit> emulation;
  /// The emulation is the reference in single precision (engine/source/single_precision.h): honest arithmetic for a
  /// task that admits no lower one.
  bool single_precision = false;
  /// By output: what answers may err by over all draws together, as a multiple of the emulation's error. `plus` is
  /// added in squares.
  std::map<std::string, EmulationLimit, std::less<>> average;
  double factor = kFloorFactor;  ///< A limit is this many times the measured floor.
  /// By regime; empty while nothing was measured: the task's own limits then hold everywhere.
  std::map<std::string, Limits, std::less<>> limits;
};

/// Null when the task has no such file. Throws usage_error naming file, key and reason; also when the limits were
/// measured with another reference or emulation than those that are there.
std::optional<Calibration> load_calibration(const SourceTree& tree, const Task& task);

/// Identifies the measured pair, in hex.
std::string emulation_hash(const SourceTree& tree, const Task& task, const Calibration& calibration);

/// The limits of a regime: measured ones where there are, else the task's.
Limits limits_for(const std::optional<Calibration>& calibration, const Task& task, std::string_view regime);
/// The same under an objective: tightened where its limits are tighter than the task's.
Limits limits_for(const std::optional<Calibration>& calibration, const Task& task, const Limits& objective,
                  std::string_view regime);

/// The limits that follow from the largest relative error and the smallest cosine of the emulation.
Limits limits_from_floor(double relative_l2, double cosine, double factor);

/// An honest kernel's error on the inputs of one case.
struct EmulationError {
  double relative_l2 = 0;
  double row_l2 = 0;  ///< Of the worst row.
};

/// The smallest cosine that an answer with this relative L2 error can have.
double smallest_cosine(double relative_l2);

/// The limits of a case in which the emulation errs so: those that follow the emulation become numbers. A cosine is
/// asked for only as far as an error within the relative limit always has it.
Limits following(const Limits& limits, const EmulationError& error);

/// `times` the error that the limits allow: relative errors, angles and errors of single elements grow by it. max_abs
/// stays, and so do limits that follow the emulation: they have grown with its error.
Limits widened(const Limits& limits, double times);

/// These limits, each of those that are set raised to at least `factor` times an honest kernel's error on the same
/// inputs. max_abs and the limits of single elements stay.
Limits admitting(const Limits& limits, const EmulationError& error, double factor);

}  // namespace evo
