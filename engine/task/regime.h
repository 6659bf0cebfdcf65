#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evo {

class JsonPlace;

/// How the values of the inputs are drawn before quantisation. One is added here and in
/// evaluator/device/regime_values.cpp, which draws it; task.json has it by its name here.
enum class Distribution {
  normal,           ///< N(0, gain^2).
  outliers,         ///< N(0, 1), and one value in 256 multiplied by gain.
  zero_group,       ///< N(0, 1) but the first scale group is all zeros.
  constant_rows,    ///< Every row (last dimension) holds one N(0, gain^2) value.
  sparse,           ///< N(0, gain^2) with nine values in ten zero.
  max_magnitude,    ///< +-gain with random signs: every code of the largest magnitude.
  spikes,           ///< N(0, 1), and in each matrix (last two dims) one random row, every second time the last, times
                    ///< gain.
  first_row,        ///< N(0, 1), and in each matrix the first row times gain: an attention sink.
  log_normal_rows,  ///< N(0, 1), each row times 2^(gain N(0, 1)).
  common_channel,   ///< N(0, 1), and in each matrix one random column (index of the last dim) plus gain.
  uniform,          ///< Evenly from 0 to gain: values of one sign.
  far_rows,  ///< N(0, 1), and of four rows one minus gain, one plus gain, one with its first half minus gain. Only
             ///< one of the regime's tensors is so, in each seed another one.
  // Of integers; floating-point inputs without a draw of their own are N(0, gain^2).
  all_equal,  ///< One random value everywhere.
  extremes,   ///< The least and the greatest value, at random.
  sorted,     ///< Every row ascends.
  ties,  ///< Four values, at random. Drawn floats are powers of two. With a gain above 1, which is the largest value of
         ///< an output's dtype, so are those of the smaller tensors of floats; the others lie halfway between whole
         ///< numbers, one in eight at +-gain.
};

/// Throws usage_error for an unknown name.
Distribution parse_distribution(std::string_view name);

/// What one step of a regime makes of the values that were drawn so far. A row is the last dimension, a column an index
/// of it; a matrix is the last two dimensions. N: a number from N(0, 1), of the row, column or matrix itself.
/// evaluator/device/draw_steps.cpp makes them; task.json has them by their names here.
enum class StepKind {
  scale,             ///< Times `amount`.
  shift,             ///< Plus `amount`.
  heavy_tail,        ///< Over u^(1 / amount), u evenly from 0 to 1: large values as in Student's t of `amount` degrees.
  outliers,          ///< A `share` of the elements times `amount`.
  zeros,             ///< A `share` of the elements is 0.
  few_rows,          ///< A `share` of the rows of a matrix, at least one, times `amount`.
  first_rows,        ///< The same of the first rows: attention sinks.
  last_rows,         ///< The same of the last rows.
  scale_rows,        ///< Each row times 2^(amount N).
  scale_columns,     ///< Each column of a matrix times 2^(amount N).
  scale_matrices,    ///< Each matrix times 2^(amount N).
  shift_rows,        ///< Each row plus amount N.
  shift_columns,     ///< Each column of a matrix plus amount N.
  growing_rows,      ///< Row by row of a matrix up to `amount` times.
  growing_columns,   ///< Column by column up to `amount` times.
  constant_rows,     ///< Each row holds one of N(0, 1).
  constant_columns,  ///< Each column of a matrix holds one of N(0, 1): all of its rows are the same.
  ascending,         ///< Each row ascends: the normal quantiles.
  positive,          ///< Without their signs.
  negative,          ///< With a minus.
  alternating,       ///< The signs alternate along a row.
  rounded,           ///< To multiples of `amount`: ties.
  like,              ///< The N(0, 1) that the input `like` begins with, element by element.
};

struct DrawStep {
  StepKind step = StepKind::scale;
  double amount = 1;
  double share = 0.01;
  std::vector<std::string> tensors = {};  ///< Inputs it applies to. Empty: all.
  std::string like = {};
  bool operator==(const DrawStep&) const = default;
};

/// The members that a step reads beside `tensors`.
struct StepMembers {
  bool amount = false, share = false, like = false;
};
StepMembers members_of(StepKind kind);

struct Regime {
  std::string name;
  Distribution distribution = Distribution::normal;
  double gain = 1.0;
  std::vector<std::string> tensors = {};     ///< Inputs it applies to; the others are N(0, 1). Empty: all.
  std::vector<std::string> objectives = {};  ///< Those whose candidates it is drawn for. Empty: all.
  /// Scales are 1 and codes the rounded values, as callers pass them who only cast; else the largest value gets the
  /// largest code.
  bool unit_scales = false;
  /// Composed regimes: what is made, one after another, of the values that are drawn by the distribution; of floats
  /// that a regime draws. They stay within +-kLargestStepped and what their dtype holds.
  std::vector<DrawStep> steps = {};
  bool operator==(const Regime&) const = default;
};

/// What a step makes is not larger: sums of squares stay far from the largest f32.
inline constexpr float kLargestStepped = 0x1p20F;

/// A regime of a task as task.json has it: "NAME": { ... }. Throws usage_error naming place, key and reason. `inputs`:
/// names of what is drawn; `objectives`: those of the task.
Regime read_regime(const JsonPlace& place, const std::string& name, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& objectives);
/// What read_regime reads, without the name, in one line.
std::string json_of(const Regime& regime);

}  // namespace evo
